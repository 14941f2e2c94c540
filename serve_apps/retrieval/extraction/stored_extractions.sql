-- document: The version of a document that readers see, by its id or its file name; of an agent's documents only where
-- one is named.
select d.id as document_id, d.filename, v.id as version_id, v.kind, v.page_count
from documents d join document_versions v on v.id = d.current_version and v.workspace_id = %(workspace)s
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
  and (d.id = %(document)s or (%(by_name)s and lower(d.filename) = lower(%(document)s)))
  and (%(agent)s::uuid is null or exists (
        select 1 from document_agent_links l where l.document_id = d.id and l.agent_id = %(agent)s::uuid))
order by d.id = %(document)s desc, d.upload_date desc, d.id limit 1;

-- pages: The pages of a version in order, without those that could not be read.
select p.number, p.text, p.words, p.engine, p.confidence from pages p
where p.version_id = %(version)s and p.workspace_id = %(workspace)s and p.tenant_id = %(tenant)s and p.failure is null
order by p.number limit %(most)s;

-- replace_run: The run of a schema over a version, in place of an earlier one of its kind; no row where the document, as
-- this reader sees it, or the version is gone by now.
insert into extraction_runs (id, tenant_id, workspace_id, document_id, version_id, schema_hash, model, user_id)
select %(run)s::uuid, d.tenant_id, d.workspace_id, d.id, v.id, %(hash)s, %(model)s::text, %(user)s::uuid
from documents d join document_versions v on v.document_id = d.id and v.workspace_id = %(workspace)s
where d.id = %(document)s and v.id = %(version)s and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
for key share
on conflict (version_id, schema_hash, by_model) do update set model = excluded.model, user_id = excluded.user_id,
    at = clock_timestamp()
returning id;

-- forget_fields: What an earlier run found.
delete from extraction_fields where run_id = %(run)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s;

-- keep_field: A field of a run.
insert into extraction_fields (run_id, ordinal, tenant_id, workspace_id, path, state, reason, value, source, page,
    first_char, end_char, ocr_confidence)
values (%(run)s, %(ordinal)s, %(tenant)s, %(workspace)s, %(path)s, %(state)s, %(reason)s, %(value)s, %(source)s,
    %(page)s, %(start)s, %(end)s, %(confidence)s);

-- unsure: Fields of the versions that readers see which a person should look at, the latest runs first.
select run_id, document_id, version_id, filename, schema_hash, at, path, state, reason, value, source, page,
       first_char as start, end_char as end, ocr_confidence
from doubtful_fields
where workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and (%(document)s::text is null or document_id = %(document)s)
order by at desc, run_id, ordinal offset %(skip)s limit %(limit)s;

-- unsure_count: How many of them there are.
select count(*) as total from doubtful_fields
where workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and (%(document)s::text is null or document_id = %(document)s);
