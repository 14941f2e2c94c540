-- Fields of an extraction that a person should look at are pages of the review queue: one view says which they are.
--
-- Of a schema that a model was asked by, the fields of its run; only versions that readers see. Rows are under the
-- policies of whoever asks.
create view doubtful_fields with (security_invoker = true) as
select f.tenant_id, f.workspace_id, r.document_id, r.version_id, d.filename, r.id as run_id, r.schema_hash, r.at,
       f.ordinal, f.path, f.state, f.reason, f.value, f.source, f.page, f.first_char, f.end_char, f.ocr_confidence
from extraction_runs r
join documents d on d.id = r.document_id and d.current_version = r.version_id and d.workspace_id = r.workspace_id
join extraction_fields f on f.run_id = r.id and f.workspace_id = r.workspace_id and f.tenant_id = r.tenant_id
where f.state in ('unsure', 'invalid')
  and (r.by_model or not exists (select 1 from extraction_runs m
        where m.version_id = r.version_id and m.schema_hash = r.schema_hash and m.by_model));
grant select on doubtful_fields to aos_app;

-- The same by page; a value that stands nowhere belongs to the first one.
create view doubtful_field_pages with (security_invoker = true) as
select workspace_id, version_id, coalesce(page, 1) as number, max(at) as at,
       jsonb_agg(jsonb_build_object('path', path, 'value', value, 'state', state, 'reason', reason)
                 order by at desc, run_id, ordinal) as fields
from doubtful_fields group by workspace_id, version_id, coalesce(page, 1);
grant select on doubtful_field_pages to aos_app;
