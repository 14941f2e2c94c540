-- version_of_bytes: The version that a file's bytes are now: of several readings that were asked for the one that readers
-- see, or else the newest.
select v.id from document_versions v
join documents d on d.id = v.document_id and d.workspace_id = v.workspace_id
where d.id = %(document)s and d.workspace_id = %(workspace)s and v.file_hash = %(file_hash)s
order by v.id = d.current_version desc nulls last, v.created_at desc, v.id limit 1;

-- document: What is known of a document, and whether the live index holds the text of this version as it is now.
select d.current_version, d.status, d.caveats, d.status in ('completed', 'degraded', 'partial', 'failed') and exists (
    select 1 from indexed_versions m join document_versions v on v.id = m.version_id
    join workspaces w on w.id = m.workspace_id and w.generation_id = m.generation_id
    where m.version_id = %(version)s and m.reads = v.reads and m.embedded) as settled
from documents d where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- told: The workspace's language, and the encodings that people have set for some documents.
select w.language, d.id, d.metadata->>'encoding' as encoding from workspaces w
left join documents d on d.workspace_id = w.id and d.id = any(%(documents)s) and d.metadata ? 'encoding'
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- hold_document: A document that is refreshed, locked for this transaction; no row where it was deleted.
select d.id from documents d where d.id = %(document)s and d.workspace_id = %(workspace)s for update;

-- corpus_changed: What was remembered of searches is old now; a document that nobody can find yet changes nothing.
update workspaces w set corpus_version = corpus_version + 1
where w.id = %(workspace)s and w.tenant_id = %(tenant)s and exists (
    select from documents d
    where d.id = %(document)s and d.workspace_id = %(workspace)s and d.current_version is not null);

-- retyped: A document that is found by another type now; to be asked before the type is written.
update workspaces w set corpus_version = corpus_version + 1
where w.id = %(workspace)s and w.tenant_id = %(tenant)s and exists (
    select from documents d
    where d.id = %(document)s and d.workspace_id = %(workspace)s and d.current_version is not null
      and d.file_type <> %(file_type)s);

-- reread: Answers quote pages, so new text of pages that can be found makes what was remembered old.
update workspaces w set corpus_version = corpus_version + 1
where w.id = %(workspace)s and w.tenant_id = %(tenant)s and exists (
    select from documents d where d.workspace_id = %(workspace)s and d.current_version = any(%(versions)s));

-- put_document: Add a document, or note that it is being worked on again.
insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, status, readers, tags,
                       description, created_by)
values (%(document)s, %(tenant)s, %(workspace)s, %(origin)s, %(filename)s, %(file_type)s, %(source_type)s, 'processing',
        %(readers)s, %(tags)s, %(description)s, %(created_by)s)
on conflict (id) do update set status = 'processing', failure = null, file_type = excluded.file_type;

-- put_failed: A file that cannot be opened is a document with a reason, and keeps the version it had.
insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, status, failure, readers,
                       tags, description, created_by, processed_date)
values (%(document)s, %(tenant)s, %(workspace)s, %(origin)s, %(filename)s, %(file_type)s, %(source_type)s, 'failed',
        %(failure)s, %(readers)s, %(tags)s, %(description)s, %(created_by)s, now())
on conflict (id) do update set failure = excluded.failure, processed_date = now(),
    status = case when documents.current_version is null then 'failed' else documents.status end;

-- put_version: Add a version once; bytes that come back are the newest again, wherever they lie now. What readers have stays
-- as old as it is while nothing but readings of the same bytes is newer: those that are under way are to follow it.
insert into document_versions as there (id, document_id, tenant_id, workspace_id, file_hash, file_size, kind, location, page_count)
values (%(version)s, %(document)s, %(tenant)s, %(workspace)s, %(file_hash)s, %(file_size)s, %(kind)s, %(location)s,
        %(page_count)s)
on conflict (id) do update set location = excluded.location, kind = excluded.kind, page_count = excluded.page_count,
    created_at = case when exists (select from documents d where d.id = there.document_id and d.current_version = there.id)
        and not exists (select from document_versions n where n.document_id = there.document_id
                          and n.created_at > there.created_at and n.file_hash <> there.file_hash)
        then there.created_at else clock_timestamp() end
returning xmax = 0 as fresh;

-- drop_pages_beyond: Pages of an earlier reading that cut the same bytes into more of them.
delete from pages where version_id = %(version)s and workspace_id = %(workspace)s and number > %(page_count)s;

-- link: Link a document to the agent that asked for it and to those that take every upload.
insert into document_agent_links (agent_id, document_id, tenant_id, workspace_id)
select a.id, %(document)s, a.tenant_id, a.workspace_id from agents a
where a.workspace_id = %(workspace)s and (a.id = %(agent)s::uuid or a.auto_link_uploads)
on conflict do nothing;

-- pages_read: Which pages of a version are stored, with what they were read with and whether that may be tried again.
select number, fingerprint, reading, coalesce((failure->>'retryable')::boolean, false) as retryable from pages
where version_id = %(version)s and workspace_id = %(workspace)s;

-- seen_well: A file that is as it was has no failure of an earlier look at it.
update documents set failure = null
where id = %(document)s and workspace_id = %(workspace)s and status in ('completed', 'degraded') and failure is not null;

-- count_reads: The text of these versions is another one from now on.
update document_versions set reads = reads + 1 where id = any(%(versions)s) and workspace_id = %(workspace)s;

-- reads: How often the text of a version has changed.
select reads from document_versions where id = %(version)s and workspace_id = %(workspace)s;

-- abandon: Documents that a job leaves unfinished say so; one that was searchable before stays what it was.
update documents d set failure = %(failure)s, processed_date = now(),
    status = case when d.current_version is not null and d.status <> 'pending' then 'partial' else 'failed' end
where d.workspace_id = %(workspace)s and d.status in ('pending', 'processing') and (
    %(only)s::text[] is null and d.origin in (
        select u.key from units u where u.job_id = %(job)s and u.stage = 'survey' and u.status = 'pending')
    or d.id in (
        select v.document_id from units u join document_versions v on v.id = u.subject
        where u.job_id = %(job)s and case when %(only)s::text[] is null then u.status = 'pending'
                                          else u.key = any(%(only)s::text[]) end));

-- any_good: Whether anything of a job's documents can be searched; also in the version before, where a new reading came to
-- the same.
select exists (select 1 from units u join documents d on d.current_version = u.key
               where u.job_id = %(job)s and d.workspace_id = %(workspace)s and u.stage = 'index' and u.status = 'done'
                 and d.status <> 'failed')
    or exists (select 1 from units u join documents d on d.current_version = u.payload->>'previous'
               where u.job_id = %(job)s and d.workspace_id = %(workspace)s and u.stage = 'index' and u.status = 'done'
                 and u.payload ? 'previous' and d.status <> 'failed') as good;

-- refuse_held: Raises where the document, what it came out of, or its workspace is held.
select refuse_if_document_held(%(tenant)s::uuid, %(workspace)s::uuid, %(document)s);

-- put_pages: Write pages of versions that still exist; a repeat replaces the row by the same content. What a model has
-- read on a page stays where the same reading, repeated, had no model to look at it. Texts and JSON travel in binary: as
-- text each quotation mark of an array's items is escaped here and read again there, a third of a page's time.
insert into pages (version_id, number, id, document_id, tenant_id, workspace_id, text, words, engine, confidence,
                   attempts, ms, fingerprint, failure, caveats, reading, personal_data)
select p.version_id, p.number, p.id, v.document_id, v.tenant_id, v.workspace_id, p.text, p.words, p.engine,
       p.confidence, p.attempts, p.ms, %(fingerprint)s, p.failure, p.caveats, p.reading, p.finds
from unnest(%(versions)s::text[], %(numbers)s::int[], %(ids)s::text[], %(texts)b::text[], %(words)b::jsonb[],
            %(engines)s::text[], %(confidences)s::real[], %(attempts)b::jsonb[], %(ms)s::int[], %(failures)s::jsonb[],
            %(caveats)b::jsonb[], %(readings)s::jsonb[], %(finds)s::jsonb[])
    as p(version_id, number, id, text, words, engine, confidence, attempts, ms, failure, caveats, reading, finds)
join document_versions v on v.id = p.version_id and v.workspace_id = %(workspace)s
on conflict (version_id, number) do update set
    text = excluded.text, words = excluded.words, engine = excluded.engine, confidence = excluded.confidence,
    attempts = excluded.attempts, ms = excluded.ms, fingerprint = excluded.fingerprint, failure = excluded.failure,
    caveats = excluded.caveats, reading = excluded.reading,
    personal_data = excluded.personal_data, read_at = now(), revision = pages.revision + 1,
    reviewed_at = case when pages.text = excluded.text then pages.reviewed_at end,
    reviewed_by = case when pages.text = excluded.text then pages.reviewed_by end
where pages.engine not in ('vision', 'vision+human') or excluded.engine in ('vision', 'vision+human')
      or pages.fingerprint <> excluded.fingerprint;

-- load_pages: The stored pages of a version in order.
select number, text, words, engine, confidence, attempts, ms, failure, caveats from pages
where version_id = %(version)s and workspace_id = %(workspace)s order by number;
