-- lock_workspace: The generations of a workspace, held against a switch until the transaction ends.
select w.generation_id as live, w.previous_generation_id as previous from workspaces w
where w.id = %(workspace)s and w.tenant_id = %(tenant)s for no key update;

-- behind: Versions that readers see and a generation does not hold as the live one has them.
select d.id as document_id, d.current_version as version_id from documents d
left join indexed_versions l on l.generation_id = %(live)s and l.version_id = d.current_version
left join indexed_versions m on m.generation_id = %(generation)s and m.version_id = d.current_version
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.current_version is not null
  and (m.version_id is null or m.reads < l.reads)
order by d.id;

-- drop_old_cut: What a generation's own cut has of versions whose text is another one now.
delete from document_chunks c using generations g, generations l
where g.id = %(generation)s and l.id = %(live)s and g.chunker <> l.chunker and c.chunker = g.chunker
  and c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and c.version_id = any(%(versions)s);

-- carry_chunks: The live cut of some versions under the name of another cut. The id is that of document.chunk_id:
-- SHA-256 over its parts, each behind its length.
insert into document_chunks (id, document_id, version_id, tenant_id, workspace_id, readers, chunker, chunk_index, text,
                             search_text, page_start, page_end, spans, boxes, headings, metadata, engine, confidence,
                             caveats, language)
select chunk_digest(c.version_id, g.chunker, c.chunk_index, c.text), c.document_id, c.version_id, c.tenant_id,
       c.workspace_id, c.readers, g.chunker, c.chunk_index, c.text, c.search_text, c.page_start, c.page_end, c.spans,
       c.boxes, c.headings, c.metadata, c.engine, c.confidence, c.caveats, c.language
from document_chunks c join generations l on l.id = %(live)s and l.chunker = c.chunker
join generations g on g.id = %(generation)s and g.chunker <> l.chunker
where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and c.version_id = any(%(versions)s)
on conflict do nothing;

-- carry_vectors: Their vectors, where both generations are of one embedder and there are not too many for a live graph.
with carried as (
    select chunk_digest(c.version_id, g.chunker, c.chunk_index, c.text) as id, e.document_id, e.readers, e.embedding
    from document_chunks c join generations l on l.id = %(live)s and l.chunker = c.chunker
    join generations g on g.id = %(generation)s and g.dimension = l.dimension
        and g.embedder_fingerprint = l.embedder_fingerprint
        and (g.embedder_fingerprint <> '' or g.embedder = l.embedder)
    join embeddings e on e.generation_id = %(live)s and e.chunk_id = c.id and e.workspace_id = c.workspace_id
    where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and c.version_id = any(%(versions)s)
    limit %(most)s + 1
)
insert into embeddings (generation_id, chunk_id, document_id, tenant_id, workspace_id, readers, embedding)
select %(generation)s, id, document_id, %(tenant)s, %(workspace)s, readers, embedding from carried
where (select count(*) from carried) <= %(most)s
on conflict (generation_id, chunk_id) do update set embedding = excluded.embedding, readers = excluded.readers;

-- carry_record: They are held now, and still to be cut and embedded as the generation wants it.
insert into indexed_versions (generation_id, version_id, document_id, tenant_id, workspace_id, reads, chunks, embedded)
select %(generation)s, v.id, v.document_id, v.tenant_id, v.workspace_id, coalesce(l.reads, v.reads),
       (select count(*) from document_chunks c join generations g on g.id = %(generation)s and g.chunker = c.chunker
        where c.version_id = v.id and c.workspace_id = v.workspace_id), false
from document_versions v left join indexed_versions l on l.generation_id = %(live)s and l.version_id = v.id
where v.workspace_id = %(workspace)s and v.tenant_id = %(tenant)s and v.id = any(%(versions)s)
on conflict (generation_id, version_id) do update set
    reads = excluded.reads, chunks = excluded.chunks, embedded = excluded.embedded;

-- use_generation: Readers use this generation from now on; the one before is kept for a rollback.
update workspaces set previous_generation_id = generation_id, generation_id = %(generation)s,
    corpus_version = corpus_version + 1
where id = %(workspace)s and tenant_id = %(tenant)s and generation_id is distinct from %(generation)s;

-- follow: What documents say of themselves follows the generation that readers use now.
update documents d set chunk_count = m.chunks, has_embeddings = m.embedded,
    status = case when d.status = 'embedding_pending' and m.embedded then 'completed'
                  when d.status = 'completed' and not m.embedded then 'embedding_pending' else d.status end
from indexed_versions m
where m.generation_id = %(generation)s and m.version_id = d.current_version and d.workspace_id = %(workspace)s
  and d.tenant_id = %(tenant)s and (d.chunk_count, d.has_embeddings) is distinct from (m.chunks, m.embedded);

-- switched: When readers began to use it.
update generation_builds set switched_at = clock_timestamp(), forced_by = coalesce(%(forced_by)s::uuid, forced_by)
where workspace_id = %(workspace)s and tenant_id = %(tenant)s and generation_id = %(generation)s;

-- begin_build: A generation that a job builds.
insert into generation_builds (workspace_id, generation_id, tenant_id, job_id)
values (%(workspace)s, %(generation)s, %(tenant)s, %(job)s)
on conflict (workspace_id, generation_id) do update set job_id = excluded.job_id, state = 'building', report = null;

-- build_of: What a job has built so far.
select generation_id, state, report from generation_builds
where workspace_id = %(workspace)s and tenant_id = %(tenant)s and job_id = %(job)s and state <> 'dropped'
order by generation_id desc limit 1;

-- is_building: Whether a generation was begun and not finished.
select 1 from generation_builds where workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and generation_id = %(generation)s and state = 'building';

-- give_up_builds: What a job has built with another embedder or cut than now is not its own any more, nor finished.
update generation_builds b set job_id = null,
    state = case when b.generation_id in (w.generation_id, w.previous_generation_id) then b.state else 'dropped' end
from workspaces w
where w.id = b.workspace_id and b.workspace_id = %(workspace)s and b.tenant_id = %(tenant)s and b.job_id = %(job)s;

-- checked: What the gate said.
update generation_builds set state = %(state)s, report = %(report)s, checked_at = clock_timestamp()
where workspace_id = %(workspace)s and tenant_id = %(tenant)s and generation_id = %(generation)s;

-- recipe: What a generation is made with.
select g.embedder, g.embedder_fingerprint, g.dimension, g.chunker from generations g where g.id = %(generation)s;

-- kept: What this workspace still needs: live, the one before, what is ready or being built.
select array_remove(array[w.generation_id, w.previous_generation_id], null) || array(
    select b.generation_id from generation_builds b left join jobs j on j.id = b.job_id
    where b.workspace_id = w.id and (b.state = 'ready'
        or b.state = 'building' and j.state in ('queued', 'running'))) as generations
from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- forget: A generation that is not needed holds nothing.
delete from indexed_versions where workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and generation_id <> all(%(kept)s::int[]);

-- dropped: What is forgotten cannot be switched to.
update generation_builds set state = 'dropped' where workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and state <> 'dropped' and generation_id <> all(%(kept)s::int[]);

-- drop_vectors: Some vectors of generations that are not needed.
delete from embeddings where (generation_id, chunk_id) in (
    select e.generation_id, e.chunk_id from embeddings e
    where e.workspace_id = %(workspace)s and e.tenant_id = %(tenant)s and e.generation_id <> all(%(kept)s::int[])
    limit %(most)s);

-- drop_chunks: Some chunks of cuts that no generation uses which is needed.
delete from document_chunks where id in (
    select c.id from document_chunks c
    where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s
      and c.chunker not in (select chunker from generations where id = any(%(kept)s::int[]))
    limit %(most)s);

-- list: The generations of a workspace with what they hold of the documents that the reader may see, newest first.
select g.id, g.embedder, g.embedder_fingerprint, g.dimension, g.chunker, g.created_at as made_at, b.state, b.job_id,
       b.report, b.checked_at, b.switched_at, b.forced_by,
       w.generation_id = g.id as live, w.previous_generation_id = g.id as previous,
       graph_sound(g.id) as graph,
       coalesce(h.documents, 0) as documents, coalesce(h.chunks, 0) as chunks, coalesce(h.embedded, 0) as embedded
from workspaces w
join generations g on g.id in (w.generation_id, w.previous_generation_id)
    or g.id in (select generation_id from generation_builds where workspace_id = w.id and state <> 'dropped')
left join generation_builds b on b.workspace_id = w.id and b.generation_id = g.id
left join lateral (
    select count(*) as documents, sum(m.chunks) as chunks, count(*) filter (where m.embedded) as embedded
    from indexed_versions m join documents d on d.current_version = m.version_id
    where m.generation_id = g.id and m.workspace_id = w.id) h on true
where w.id = %(workspace)s and w.tenant_id = %(tenant)s order by g.id desc;
