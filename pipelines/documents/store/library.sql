-- list: A page of the documents of a workspace: the newest first, those that answers used most, or those that none used, and
-- then those that were used longest ago. A plan is made for each call: of the newest the index gives only as many as are shown;
-- the versions are joined to what is shown, and not before.
select d.id, d.filename, d.file_type, d.source_type, d.status, d.failure, d.caveats, d.description, d.tags, d.readers,
       d.chunk_count, d.has_embeddings, d.upload_date, d.processed_date, d.parent_id, d.classification, v.page_count, v.file_size,
       coalesce(d.used_by, 0) as rag_query_count, coalesce(d.cited_by, 0) as cited_count, d.last_accessed
from (
    select d.*, u.rag_query_count as used_by, u.cited_count as cited_by, u.last_accessed
    from documents d
    left join document_usage u on u.document_id = d.id and u.workspace_id = d.workspace_id
    where d.workspace_id = %(workspace)s
      and (%(status)s::text is null or d.status = %(status)s)
      and (%(file_type)s::text is null or d.file_type = %(file_type)s)
      and (%(search)s::text is null or d.filename ilike %(search)s or d.description ilike %(search)s)
      and (%(since)s::timestamptz is null or d.upload_date >= %(since)s::timestamptz)
      and (%(before)s::timestamptz is null or d.upload_date < %(before)s::timestamptz)
      and (%(parent)s::text is null or d.parent_id = %(parent)s)
      and (%(used)s::boolean is null or (u.document_id is not null) = %(used)s)
    order by case when %(sort)s::text = 'most_used' then coalesce(u.rag_query_count, 0) end desc,
             case when %(sort)s::text = 'never_used' then u.last_accessed end nulls first, d.upload_date desc, d.id
    offset %(skip)s limit %(limit)s) d
left join document_versions v on v.id = d.current_version and v.workspace_id = %(workspace)s
order by case when %(sort)s::text = 'most_used' then coalesce(d.used_by, 0) end desc,
         case when %(sort)s::text = 'never_used' then d.last_accessed end nulls first, d.upload_date desc, d.id;

-- count: How many documents the same filters find.
select count(*) as total from documents d
where (%(used)s::boolean is null
       or exists (select from document_usage u where u.document_id = d.id and u.workspace_id = d.workspace_id) = %(used)s)
  and d.workspace_id = %(workspace)s
  and (%(status)s::text is null or d.status = %(status)s)
  and (%(file_type)s::text is null or d.file_type = %(file_type)s)
  and (%(search)s::text is null or d.filename ilike %(search)s or d.description ilike %(search)s)
  and (%(since)s::timestamptz is null or d.upload_date >= %(since)s::timestamptz)
  and (%(before)s::timestamptz is null or d.upload_date < %(before)s::timestamptz)
  and (%(parent)s::text is null or d.parent_id = %(parent)s);

-- show: One document with the version its readers see, or the newest while there is none to be seen.
select d.id, d.origin, d.filename, d.file_type, d.source_type, d.status, d.failure, d.caveats, d.description, d.tags,
       d.readers, d.parent_id, c.filename as parent_filename, d.classification, d.classified_by,
       (select count(*) from documents m where m.parent_id = d.id and m.workspace_id = d.workspace_id) as members,
       d.chunk_count, d.has_embeddings, d.upload_date, d.processed_date, d.metadata - 'uploads' as metadata, d.current_version,
       v.id as version_id, v.file_hash, v.file_size, v.kind, v.location, v.page_count,
       coalesce(u.rag_query_count, 0) as rag_query_count, coalesce(u.cited_count, 0) as cited_count, u.last_accessed
from documents d
left join document_usage u on u.document_id = d.id and u.workspace_id = d.workspace_id
left join documents c on c.id = d.parent_id and c.workspace_id = d.workspace_id
left join lateral (
    select * from document_versions v
    where v.document_id = d.id and v.workspace_id = d.workspace_id
      and (d.current_version is null or v.id = d.current_version)
    order by v.created_at desc, v.id limit 1
) v on true
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- page_counts: How many pages of a version are stored, how many of them could not be read, and how many were read with
-- something missing or doubtful.
select count(*) as stored, count(failure) as failed,
       count(*) filter (where caveats @? '$[*] ? (@.weight != "note")') as with_caveats from pages p
where p.version_id = %(version)s and p.workspace_id = %(workspace)s;

-- agents_of: The agents a document is linked to.
select a.id, a.name from document_agent_links l
join agents a on a.id = l.agent_id and a.workspace_id = l.workspace_id
where l.document_id = %(document)s and l.workspace_id = %(workspace)s order by a.name;

-- page: One page of a version.
select p.number, p.text, p.words, p.confidence, p.engine, p.attempts, p.ms, p.failure, p.caveats, p.read_at from pages p
where p.version_id = %(version)s and p.number = %(number)s and p.workspace_id = %(workspace)s;

-- texts: The text of consecutive pages.
select p.number, p.text, p.failure, p.caveats from pages p
where p.version_id = %(version)s and p.number >= %(first)s and p.workspace_id = %(workspace)s
order by p.number limit %(limit)s;

-- spans: Where chunks of a version stand.
select c.id, c.spans from document_chunks c
where c.version_id = %(version)s and c.id = any(%(chunks)s) and c.workspace_id = %(workspace)s;

-- impact: What goes when documents go.
select (select count(*) from document_versions v where v.document_id = any(%(documents)s) and v.workspace_id = %(workspace)s)
           as versions,
       (select count(*) from pages p where p.version_id in (
            select v.id from document_versions v
            where v.document_id = any(%(documents)s) and v.workspace_id = %(workspace)s)) as pages,
       (select count(*) from document_chunks c
        where c.document_id = any(%(documents)s) and c.workspace_id = %(workspace)s) as chunks,
       (select count(*) from embeddings e
        where e.document_id = any(%(documents)s) and e.workspace_id = %(workspace)s) as embeddings;

-- lock: Nobody else changes the document until this transaction ends.
select d.id, d.filename from documents d
where d.id = %(document)s and d.workspace_id = %(workspace)s for update;

-- same_bytes: A document whose current content has this hash; not one that goes with the container it came out of.
select d.id, d.filename, d.status from documents d
join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where v.workspace_id = %(workspace)s and v.file_hash = %(hash)s and d.workspace_id = %(workspace)s
  and d.status in ('completed', 'degraded', 'partial', 'embedding_pending') and d.parent_id is null
order by d.upload_date, d.id limit 1;

-- announce: A document that was accepted and is to be read; one that is known stays as it is.
insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, readers, tags,
                       description, created_by)
values (%(document)s, %(tenant)s, %(workspace)s, %(origin)s, %(filename)s, %(file_type)s, 'upload', %(readers)s,
        %(tags)s, %(description)s, %(user)s)
on conflict (id) do nothing;

-- remember_upload: Where the bytes are, beside those of earlier uploads that have not become a version.
update documents d set metadata = jsonb_set(d.metadata, '{uploads}', to_jsonb(array(
    select u.location from jsonb_array_elements_text(coalesce(d.metadata->'uploads', '[]')) as u(location)
    where not exists (select 1 from document_versions v
                      where v.document_id = d.id and v.workspace_id = d.workspace_id and v.location = u.location)
    union all select %(location)s
)))
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- set_encoding: How the document's text is to be decoded from its next reading on; null: as its bytes say.
update documents d set metadata = case when %(encoding)s::text is null then d.metadata - 'encoding'
    else d.metadata || jsonb_build_object('encoding', %(encoding)s::text) end
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- by_status: How many documents stand where, and how many still lack vectors.
select d.status, count(*) as documents, count(*) filter (where not d.has_embeddings) as without_vectors from documents d
where d.workspace_id = %(workspace)s
  and (%(agent)s::uuid is null or exists (select 1 from document_agent_links l
       where l.document_id = d.id and l.agent_id = %(agent)s::uuid and l.workspace_id = d.workspace_id)
       or exists (select 1 from agents a
       where a.id = %(agent)s::uuid and a.workspace_id = d.workspace_id and a.whole_workspace))
group by d.status;

-- readers: Who may see a document, as far as whoever asks sees it.
select readers from documents where id = %(document)s and workspace_id = %(workspace)s;

-- change_readers: Who may see a document from now on; its members, chunks and vectors follow by triggers. No row for a
-- member, which follows what it came out of.
with before as (
    select readers from documents where id = %(document)s and workspace_id = %(workspace)s and parent_id is null)
update documents d set readers = %(readers)s, own_readers = true from before
where d.id = %(document)s and d.workspace_id = %(workspace)s returning before.readers as before;

-- volume: Pages, chunks and vectors of the live generation behind the documents that readers see.
select count(distinct d.id) as documents, coalesce(sum(v.page_count), 0) as pages, coalesce(sum(d.chunk_count), 0) as chunks,
       coalesce(sum((select count(*) from embeddings e where e.document_id = d.id
           and e.workspace_id = d.workspace_id and e.generation_id = w.generation_id)), 0) as embeddings
from documents d
join workspaces w on w.id = d.workspace_id
join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where d.workspace_id = %(workspace)s
  and (%(agent)s::uuid is null or exists (select 1 from document_agent_links l
       where l.document_id = d.id and l.agent_id = %(agent)s::uuid and l.workspace_id = d.workspace_id)
       or exists (select 1 from agents a
       where a.id = %(agent)s::uuid and a.workspace_id = d.workspace_id and a.whole_workspace));

-- generation: The generation a workspace searches, and the one a rollback would return to.
select w.corpus_version, w.previous_generation_id, g.id, g.embedder, g.dimension, g.chunker, g.build, g.created_at,
       case when graph_sound(g.id) then 'hnsw' else 'exact' end as vector_index,
       case when keyword_index() is null then 'full_text' else 'bm25' end as keyword_engine
from workspaces w left join generations g on g.id = w.generation_id
where w.id = %(workspace)s;

-- current_bytes: What documents hold now, by the names they came under; those that were never read have no hash.
select d.id, d.origin, v.file_hash from documents d
left join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where d.workspace_id = %(workspace)s and d.origin = any(%(origins)s);

-- arriving: The newest uploads under these names that a job has yet to finish.
select distinct on (u.key) u.key as origin, u.payload->>'location' as location, j.id as job from units u
join jobs j on j.id = u.job_id and j.workspace_id = u.workspace_id
where u.workspace_id = %(workspace)s and u.stage = 'survey' and u.key = any(%(origins)s)
  and j.state in ('queued', 'running')
order by u.key, j.created_at desc, j.id;

-- below: Documents whose names begin so, that can be read back, with where their bytes are; not what came out of them.
select d.id, d.origin, v.location from documents d
join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where d.workspace_id = %(workspace)s and starts_with(d.origin, %(prefix)s) and d.parent_id is null order by d.origin limit %(limit)s;
