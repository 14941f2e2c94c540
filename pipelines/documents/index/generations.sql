-- lock_version: The version and its document, held against a delete until the transaction ends.
select d.id as document_id, d.readers, d.filename, d.file_type, d.upload_date, d.current_version, v.page_count, v.reads,
       v.created_at >= coalesce((select c.created_at from document_versions c where c.id = d.current_version),
                                v.created_at) as newest
from documents d join document_versions v on v.document_id = d.id
where v.id = %(version)s and d.workspace_id = %(workspace)s for update of d;

-- await_workspace: Wait for whoever changes the workspace: a query that waits itself joins what was there before.
select id from workspaces where id = %(workspace)s for no key update;

-- lock_workspace: The generation that readers use, held against a switch until the transaction ends.
select w.generation_id, w.previous_generation_id, w.language, g.embedder, g.embedder_fingerprint, g.dimension, g.chunker
from workspaces w
left join generations g on g.id = w.generation_id where w.id = %(workspace)s for no key update of w;

-- drop_stale_chunks: Remove what an earlier cut of this version left behind.
delete from document_chunks where version_id = %(version)s and workspace_id = %(workspace)s and chunker = %(chunker)s
  and id <> all(%(ids)s::text[]);

-- note_lost_vectors: Other generations that share the chunks of this cut have lost vectors with those that went.
update indexed_versions m set embedded = false from generations g
where m.version_id = %(version)s and m.workspace_id = %(workspace)s and m.embedded
  and g.id = m.generation_id and g.id <> %(generation)s and g.chunker = %(chunker)s;

-- drop_other_versions: Once a version is current, the chunks of the others are not searched any more.
delete from document_chunks where document_id = %(document)s and workspace_id = %(workspace)s
  and version_id <> %(version)s;

-- put_chunks: Write the chunks of one version; of those that are there, how their pages were read by now, where they stand
-- in a text that was read anew, and what depends on the chunks around them. Chunks from before there were metrics stay as they are: a re-index would rewrite every row
-- of the index for them.
insert into document_chunks as there (id, document_id, version_id, tenant_id, workspace_id, readers, chunker,
                                      chunk_index, text, search_text, page_start, page_end, spans, boxes, headings,
                                      metadata, engine, confidence, caveats, language)
select c.id, %(document)s, %(version)s, %(tenant)s, %(workspace)s, %(readers)s, %(chunker)s, c.chunk_index, c.text,
       c.search_text, c.page_start, c.page_end, c.spans, c.boxes,
       array(select jsonb_array_elements_text(c.headings)), c.metadata, r.engine, r.confidence,
       caveats_of(%(version)s, array(select distinct (s->>0)::int from jsonb_array_elements(c.spans) s)),
       c.language
from unnest(%(ids)s::text[], %(indexes)s::int[], %(texts)b::text[], %(search_texts)b::text[], %(starts)s::int[],
            %(ends)s::int[], %(spans)b::jsonb[], %(boxes)b::jsonb[], %(headings)b::jsonb[], %(metadata)b::jsonb[],
            %(languages)s::text[])
    as c(id, chunk_index, text, search_text, page_start, page_end, spans, boxes, headings, metadata, language),
    reading_of(%(version)s, c.page_start, c.page_end) r
on conflict (id) do update set engine = excluded.engine, confidence = excluded.confidence, caveats = excluded.caveats,
    metadata = excluded.metadata, spans = excluded.spans, boxes = excluded.boxes, headings = excluded.headings,
    search_text = excluded.search_text, page_start = excluded.page_start, page_end = excluded.page_end
where (there.engine, there.confidence, there.caveats, there.spans, there.boxes, there.search_text)
      is distinct from (excluded.engine, excluded.confidence, excluded.caveats, excluded.spans, excluded.boxes,
                        excluded.search_text)
   or there.metadata <> excluded.metadata and (there.metadata ? 'metrics' or excluded.metadata ? 'parent');

-- note_stemmers: In which languages the words of the workspace's chunks are cut by now.
select note_stemmers(%(languages)s::text[]);

-- put_embeddings: Write the vectors of one version into a generation; they stand one after the other in one array.
insert into embeddings (generation_id, chunk_id, document_id, tenant_id, workspace_id, readers, embedding)
select %(generation)s, e.id, %(document)s, %(tenant)s, %(workspace)s, %(readers)s,
       (%(vectors)b::real[])[(e.n - 1) * %(dimension)s + 1 : e.n * %(dimension)s]::vector
from unnest(%(ids)s::text[]) with ordinality as e(id, n)
on conflict (generation_id, chunk_id) do update set embedding = excluded.embedding, readers = excluded.readers;

-- drop_tables: Remove the tables that an earlier look found in a document, whichever version it was of.
delete from page_tables where document_id = %(document)s and workspace_id = %(workspace)s;

-- put_tables: Write the tables of one version in their order.
insert into page_tables (version_id, ordinal, page, document_id, tenant_id, workspace_id, headings, row_count, content)
select %(version)s, t.ordinal, t.page, %(document)s, %(tenant)s, %(workspace)s,
       array(select jsonb_array_elements_text(t.headings)), jsonb_array_length(t.content->'rows'), t.content
from unnest(%(pages)s::int[], %(headings)s::jsonb[], %(contents)s::jsonb[])
    with ordinality as t(page, headings, content, ordinal);

-- record_tables: The text that the tables of a version were found in.
update document_versions set tables_of_reads = %(reads)s
where id = %(version)s and workspace_id = %(workspace)s and tables_of_reads is distinct from %(reads)s;

-- settle_document: What the document's pages, their caveats and its vectors make of it. What was not read or may be
-- wrong shows in the status before missing vectors do, which `has_embeddings` tells of every document.
with found as (
    select c.kind, c.weight, c.detail, c.count, p.number
    from pages p cross join lateral jsonb_to_recordset(p.caveats) as c(kind text, weight text, detail text, count int)
    where p.version_id = %(version)s and p.workspace_id = %(workspace)s and p.caveats <> '[]'
), kinds as (
    select kind, weight, (array_agg(detail order by number))[1] as detail, sum(count) as count, min(number) as first,
           (array_agg(distinct number order by number))[1:20] as pages, count(distinct number) as page_count
    from found group by kind, weight
), told as (
    select coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'weight', weight, 'detail', detail, 'count', count,
               'pages', to_jsonb(pages), 'page_count', page_count) order by caveat_rank(weight), first, kind), '[]') as caveats,
           coalesce(bool_or(weight = 'unread'), false) as unread, coalesce(bool_or(weight = 'unsure'), false) as unsure
    from kinds
)
update documents d set
    current_version = %(version)s,
    chunk_count = %(chunk_count)s,
    has_embeddings = %(embedded)s,
    processed_date = now(),
    failure = f.failure,
    caveats = case when %(chunk_count)s = 0 and f.failed < greatest(%(page_count)s, 1) then t.caveats || %(no_text)s::jsonb
                   else t.caveats end,
    status = case when f.failed > 0 and f.failed >= %(page_count)s then 'failed'
                  when f.failed > 0 or t.unread then 'partial'
                  when t.unsure or %(chunk_count)s = 0 then 'degraded'
                  when not %(embedded)s then 'embedding_pending' else 'completed' end
from told t, (select count(*) filter (where failure is not null) as failed,
             (array_agg(failure order by number) filter (where failure is not null))[1] as failure
      from pages where version_id = %(version)s and workspace_id = %(workspace)s) f
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- standing: What became of the document of a version; no row where readers see another version, or none.
select d.status, d.caveats from documents d
where d.current_version = %(version)s and d.workspace_id = %(workspace)s;

-- rebuilding: A re-index of the whole workspace that has not ended.
select j.id from jobs j where j.workspace_id = %(workspace)s and j.kind = 'reindex' and j.state in ('queued', 'running')
  and j.payload->>'agent_id' is null limit 1;

-- use_generation: Readers use this generation from now on; the one before is kept for a rollback.
update workspaces set previous_generation_id = nullif(generation_id, %(generation)s), generation_id = %(generation)s,
    corpus_version = corpus_version + 1
where id = %(workspace)s and generation_id is distinct from %(generation)s;

-- open_generation: The generation for an embedder and a chunker; `fresh` begins another build of it.
select open_generation(%(embedder)s, %(embedder_fingerprint)s, %(dimension)s, %(chunker)s, %(fingerprint)s,
                       %(fresh)s) as id;

-- adopt: A generation from before embedders had fingerprints is from now on of the one that has its name.
select adopt_embedder(%(generation)s, %(made)s);

-- index_generation: Build the graph where the generation has outgrown exact scans.
select index_generation(%(generation)s, %(rows)s) as built;

-- to_reindex: Document versions that a generation does not hold completely yet.
select d.id as document_id, d.current_version as version_id from documents d
where d.workspace_id = %(workspace)s and d.current_version is not null and d.id > %(after)s
  and (%(agent)s::uuid is null or exists (
        select 1 from document_agent_links l where l.document_id = d.id and l.agent_id = %(agent)s::uuid))
  and (not %(only_pending)s or not d.has_embeddings)
  and not exists (select 1 from indexed_versions m join document_versions v on v.id = m.version_id
                  where m.generation_id = %(kept)s::int and m.version_id = d.current_version and m.embedded
                    and m.reads = v.reads)
order by d.id limit %(limit)s;

-- record: What the generation holds of a version from now on.
insert into indexed_versions (generation_id, version_id, document_id, tenant_id, workspace_id, reads, chunks, embedded)
values (%(generation)s, %(version)s, %(document)s, %(tenant)s, %(workspace)s, %(reads)s, %(chunks)s, %(embedded)s)
on conflict (generation_id, version_id) do update set
    reads = excluded.reads, chunks = excluded.chunks, embedded = excluded.embedded;

-- missing_in: Documents whose text, as it is now, a generation does not hold; those that cannot be indexed stay out.
select d.id as document_id, d.current_version as version_id from documents d
join document_versions v on v.id = d.current_version
left join indexed_versions m on m.generation_id = %(generation)s and m.version_id = v.id
where d.workspace_id = %(workspace)s and (m.version_id is null or m.reads <> v.reads or not m.embedded)
  and not exists (select 1 from units u where u.job_id = %(job)s and u.stage = 'index' and u.key = d.current_version
                  and u.status = 'failed')
order by d.id limit %(limit)s;

-- current_version: The version of a document that readers see.
select current_version from documents where id = %(document)s and workspace_id = %(workspace)s;
