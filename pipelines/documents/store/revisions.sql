-- base: The version that a new reading begins from: of the newest bytes the one that readers see, or else the newest.
select v.id, v.file_hash, v.file_size, v.kind, v.location, v.page_count, d.current_version
from documents d join document_versions v on v.document_id = d.id and v.workspace_id = d.workspace_id
where d.id = %(document)s and d.workspace_id = %(workspace)s and v.file_hash = (
    select n.file_hash from document_versions n where n.document_id = d.id and n.workspace_id = d.workspace_id
    order by n.created_at desc, n.id limit 1)
order by v.id = d.current_version desc nulls last, v.created_at desc, v.id limit 1;

-- uploaded: Where the newest bytes of an upload are that never became a version.
select d.metadata->'uploads'->>-1 as location from documents d
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- hold: A document that is to be read again, held so that of two who ask at once the second sees the first's job.
select d.id from documents d where d.id = %(document)s and d.workspace_id = %(workspace)s for no key update;

-- at_work: A job that has yet to read this document, other than this one.
select j.id from documents d join jobs j on j.workspace_id = d.workspace_id
where d.id = %(document)s and d.workspace_id = %(workspace)s and j.state in ('queued', 'running') and j.id <> %(job)s
  and (j.kind = 'process' and j.payload->>'document_id' = d.id and j.payload ? 'reading'
       or exists (select from units u where u.job_id = j.id and u.stage = 'survey' and u.key = d.origin
                    and u.status = 'pending')
       or exists (select from units u join document_versions v on v.id = u.subject
                  where u.job_id = j.id and u.stage in ('read', 'index') and u.status = 'pending'
                    and v.document_id = d.id and (u.stage = 'read' or v.id is distinct from d.current_version)))
order by j.created_at limit 1;

-- asked: The document that a job was asked to read again; no row where it is another job.
select j.payload->>'document_id' as document from jobs j
where j.id = %(job)s and j.workspace_id = %(workspace)s and j.kind = 'process' and j.payload ? 'reading';

-- read_beside: A job that was asked to read one of the documents again that are left to this one, planned or not.
select j.id, d.id as document from jobs j
join documents d on d.id = j.payload->>'document_id' and d.workspace_id = j.workspace_id
where j.workspace_id = %(workspace)s and j.state in ('queued', 'running') and j.id <> %(job)s
  and j.kind = 'process' and j.payload ? 'reading' and (exists (
    select from jobs o where o.id = %(job)s and o.workspace_id = j.workspace_id and o.phase = 'plan'
      and o.payload->'files' @> jsonb_build_array(jsonb_build_object('origin', d.origin))) or exists (
    select from units u where u.job_id = %(job)s and u.workspace_id = j.workspace_id and u.status = 'pending'
      and (u.stage = 'survey' and u.key = d.origin
           or u.stage in ('read', 'index') and u.subject in (
             select v.id from document_versions v where v.document_id = d.id))))
order by j.created_at limit 1;

-- superseded: Versions that a job was to read, and has not to the end, of which readers would never hear: they have a newer
-- one, or it was a reading that is gone.
select distinct u.subject from units u
left join document_versions v on v.id = u.subject and v.workspace_id = u.workspace_id
left join documents d on d.id = v.document_id
left join document_versions c on c.id = d.current_version
where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage in ('read', 'index')
  and u.status in ('pending', 'failed')
  and (c.created_at > v.created_at or v.id is null and exists (
         select from units i join document_versions b on b.id = i.payload->>'previous'
         where i.job_id = u.job_id and i.stage = 'index' and i.subject = u.subject));

-- begin: A document of which nothing can be found yet is being worked on; another stays what it is until the switch.
update documents d set status = 'processing', failure = null
where d.id = %(document)s and d.workspace_id = %(workspace)s and d.current_version is null;

-- put_revision: A version of the same bytes beside the one it begins from.
insert into document_versions (id, document_id, tenant_id, workspace_id, file_hash, file_size, kind, location, page_count)
values (%(version)s, %(document)s, %(tenant)s, %(workspace)s, %(file_hash)s, %(file_size)s, %(kind)s, %(location)s,
        %(page_count)s)
on conflict (id) do nothing;

-- drop_abandoned: New readings of a document that readers never got, of jobs that are not at it any more. Whatever readers
-- once had was looked through for tables, and stays for its citations.
delete from document_versions v using documents d
where v.document_id = %(document)s and v.workspace_id = %(workspace)s and d.id = v.document_id
  and v.id is distinct from d.current_version and v.id is distinct from %(but)s
  and v.tables_of_reads is null
  and exists (select from units u join jobs j on j.id = u.job_id
              where u.stage = 'index' and u.key = v.id and u.subject = v.id and u.payload ? 'previous'
                and u.status in ('pending', 'failed') and j.state not in ('queued', 'running'));

-- carry: Take over pages that are not to be read again, with all that is known of their reading.
insert into pages (version_id, number, id, document_id, tenant_id, workspace_id, text, words, engine, confidence, attempts,
                   ms, fingerprint, failure, caveats, read_at, reading, revision, reviewed_at, reviewed_by,
                   personal_data)
select %(version)s, p.number, n.id, p.document_id, p.tenant_id, p.workspace_id, p.text, p.words, p.engine, p.confidence,
       p.attempts, p.ms, p.fingerprint, p.failure, p.caveats, p.read_at, p.reading, p.revision,
       p.reviewed_at, p.reviewed_by, p.personal_data
from unnest(%(numbers)s::int[], %(ids)s::text[]) as n(number, id)
join pages p on p.version_id = %(base)s and p.workspace_id = %(workspace)s and p.number = n.number
returning number;

-- carry_unplaced: A correction that has no place on a page has none where that page is taken over.
update page_corrections c set unplaced_in = array_append(array_remove(c.unplaced_in, %(version)s), %(version)s)
where c.workspace_id = %(workspace)s and c.page = any(%(numbers)s::int[]) and %(base)s = any(c.unplaced_in);

-- same: Of new readings whose pages all came to what the version before has, that version; not where a page has failed
-- in this job, which may be retried.
select v.id as version, b.id as base
from unnest(%(versions)s::text[], %(bases)s::text[]) as n(version, base)
join document_versions v on v.id = n.version and v.workspace_id = %(workspace)s
join document_versions b on b.id = n.base and b.workspace_id = v.workspace_id and b.page_count = v.page_count
join documents d on d.id = v.document_id and d.current_version = b.id
where not exists (select from units u where u.job_id = %(job)s and u.stage = 'read' and u.subject = v.id
                    and u.status = 'failed')
  and not exists (
    select from (select * from pages p where p.version_id = v.id and p.workspace_id = v.workspace_id) fresh
    full join (select * from pages p where p.version_id = b.id and p.workspace_id = v.workspace_id) old using (number)
    where (fresh.text, fresh.words, fresh.engine, fresh.confidence, fresh.failure, fresh.caveats)
          is distinct from (old.text, old.words, old.engine, old.confidence, old.failure, old.caveats));

-- setbacks: Of new readings in which pages failed, those that readers would lose text by, or get nothing new from; each with
-- the first page that failed and why.
select v.id as version, f.number, f.failure
from unnest(%(versions)s::text[], %(bases)s::text[]) as n(version, base)
join document_versions v on v.id = n.version and v.workspace_id = %(workspace)s
join document_versions b on b.id = n.base and b.workspace_id = v.workspace_id
join documents d on d.id = v.document_id and d.current_version = b.id
cross join lateral (
    -- Pages that are cut otherwise now are not those that were: whatever failed may have been read before.
    select p.number, p.failure, o.lost from pages p cross join lateral (
        select exists (select from pages o where o.version_id = b.id and o.workspace_id = v.workspace_id
                         and o.failure is null and (o.number = p.number or b.page_count <> v.page_count)) as lost) o
    where p.version_id = v.id and p.workspace_id = v.workspace_id and p.failure is not null
    order by o.lost desc, p.number limit 1) f
where f.lost or b.page_count = v.page_count and not exists (
    select from (select * from pages p where p.version_id = v.id and p.workspace_id = v.workspace_id) fresh
    full join (select * from pages p where p.version_id = b.id and p.workspace_id = v.workspace_id) old using (number)
    where (fresh.text, fresh.words, fresh.engine, fresh.confidence, fresh.failure, fresh.caveats)
          is distinct from (old.text, old.words, old.engine, old.confidence, old.failure, old.caveats))
  and exists (select from units u where u.job_id = %(job)s and u.stage = 'read' and u.subject = v.id
                and u.status = 'failed');

-- overtaken: The document of the version that a reading began from; no row where it is gone.
select d.id from document_versions b join documents d on d.id = b.document_id and d.workspace_id = b.workspace_id
where b.id = %(base)s and b.workspace_id = %(workspace)s;

-- adopt: The version before comes to the same when it is read that way: a later look at the file goes by that. When and in
-- which job its text was read stays, for whoever is led there by a quote.
update pages old set fingerprint = p.fingerprint, reading = p.reading
from pages p
where p.version_id = %(version)s and p.workspace_id = %(workspace)s and old.version_id = %(base)s
  and old.workspace_id = p.workspace_id and old.number = p.number and old.fingerprint <> p.fingerprint;

-- drop: A new reading that readers never get.
delete from document_versions v where v.id = %(version)s and v.workspace_id = %(workspace)s and v.tables_of_reads is null
  and not exists (select from documents d where d.current_version = v.id);
