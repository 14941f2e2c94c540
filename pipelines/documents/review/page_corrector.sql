-- index_state: What the live index holds of the version that readers see; no generation where nothing was indexed yet.
select v.reads, v.file_hash, w.generation_id, g.chunker, g.embedder, g.embedder_fingerprint, g.dimension,
       m.reads as indexed_reads, m.embedded
from documents d join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
join workspaces w on w.id = d.workspace_id
left join generations g on g.id = w.generation_id
left join indexed_versions m on m.generation_id = g.id and m.version_id = v.id
where d.id = %(document)s and d.workspace_id = %(workspace)s and v.id = %(version)s;

-- chunks: In order, the chunks of a version that stand on a page, whose parents do, or that stand under a title.
select c.id, c.chunk_index, c.text, c.spans, c.boxes, c.headings, c.metadata from document_chunks c
where c.version_id = %(version)s and c.workspace_id = %(workspace)s and c.chunker = %(chunker)s
  and (c.page_start <= %(page)s and c.page_end >= %(page)s or %(title)s = any(c.headings)
       or c.metadata ? 'parent' and jsonb_path_exists(
            c.metadata, '$.parent.spans[*][0] ? (@ == $page)', jsonb_build_object('page', %(page)s::int)))
order by c.chunk_index;

-- repeated: A correction that the same person has made of the same line of the page as it was.
select c.id, c.version_id, c.revision, c.reembedded, c.searchable, c.start_at, c.text_before, c.text_after, c.whole from page_corrections c
where c.version_id = %(version)s and c.workspace_id = %(workspace)s and c.document_id = %(document)s
  and c.page = %(page)s and c.revision = %(revision)s and c.user_id is not distinct from %(user)s::uuid and c.line = %(line)s;

-- hold: The version that readers see, its document held against everybody who would write or delete it.
select d.id, v.reads, w.generation_id from documents d
join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
join workspaces w on w.id = d.workspace_id
where d.id = %(document)s and d.workspace_id = %(workspace)s and v.id = %(version)s for update of d;

-- put_page: A page as somebody has corrected it, unless it is another than they saw.
update pages set text = %(text)s, words = %(words)s, engine = %(engine)s, confidence = %(confidence)s,
    attempts = %(attempts)s, revision = revision + 1
where version_id = %(version)s and number = %(page)s and workspace_id = %(workspace)s and revision = %(revision)s;

-- add: The correction.
insert into page_corrections (document_id, version_id, file_hash, page, revision, tenant_id, workspace_id, user_id, line,
                              start_at, text_before, text_after, whole, box, reembedded, searchable)
values (%(document)s, %(version)s, %(file_hash)s, %(page)s, %(revision)s, %(tenant)s, %(workspace)s, %(user)s, %(line)s,
        %(start)s, %(before)s, %(after)s, %(whole)s, %(box)s, %(reembedded)s, %(searchable)s)
returning id;

-- readings: The page in versions of the same bytes that are being read beside the one that readers see: they are to have the
-- correction too.
select p.version_id, p.number, p.revision, p.text, p.words, p.engine, p.confidence, p.attempts, p.ms, p.failure, p.caveats
from pages p join document_versions v on v.id = p.version_id and v.workspace_id = p.workspace_id
where v.document_id = %(document)s and v.workspace_id = %(workspace)s and v.id <> %(version)s
  and v.file_hash = %(file_hash)s and v.tables_of_reads is null and p.number = %(page)s;

-- note_unplaced: The correction has no place in another reading of the page.
update page_corrections set unplaced_in = array_append(unplaced_in, %(version)s)
where id = %(id)s and workspace_id = %(workspace)s;

-- count_reads: The text of a version is another one from now on.
update document_versions set reads = reads + 1 where id = %(version)s and workspace_id = %(workspace)s;

-- drop_vectors: Vectors of texts that are no more, in every generation.
delete from embeddings where chunk_id = any(%(ids)s::text[]) and workspace_id = %(workspace)s;

-- patch_chunks: Chunks as they are after a correction; how their pages were read follows.
update document_chunks c set id = n.id, text = n.text, search_text = n.search_text, spans = n.spans, boxes = n.boxes,
    headings = array(select jsonb_array_elements_text(n.headings)), metadata = n.metadata,
    engine = r.engine, confidence = r.confidence
from unnest(%(formers)s::text[], %(ids)s::text[], %(texts)s::text[], %(search_texts)s::text[], %(spans)s::jsonb[],
            %(boxes)s::jsonb[], %(headings)s::jsonb[], %(metadata)s::jsonb[])
    as n(former, id, text, search_text, spans, boxes, headings, metadata)
join document_chunks k on k.id = n.former
cross join lateral reading_of(%(version)s, k.page_start, k.page_end) r
where c.id = n.former and c.version_id = %(version)s and c.workspace_id = %(workspace)s;

-- put_vectors: Vectors of the new texts, in the live generation.
insert into embeddings (generation_id, chunk_id, document_id, tenant_id, workspace_id, readers, embedding)
select %(generation)s, e.id, d.id, d.tenant_id, d.workspace_id, d.readers, e.vector::vector
from unnest(%(ids)s::text[], %(vectors)s::text[]) as e(id, vector)
join documents d on d.id = %(document)s and d.workspace_id = %(workspace)s;

-- record: The live index holds the version as it is now.
update indexed_versions m set reads = v.reads, embedded = m.embedded and %(embedded)s from document_versions v
where m.version_id = %(version)s and m.workspace_id = %(workspace)s and m.generation_id = %(generation)s and v.id = m.version_id;

-- note_lost_vectors: Other generations of the same cut have lost the vectors of the chunks that are others now.
update indexed_versions m set embedded = false from generations g
where m.version_id = %(version)s and m.workspace_id = %(workspace)s and m.embedded and g.id = m.generation_id
  and g.id <> %(generation)s and g.chunker = %(chunker)s;

-- note_pending: The document is found by its words until its new texts are embedded.
update documents d set has_embeddings = false,
    status = case when d.status = 'completed' then 'embedding_pending' else d.status end
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- drop_tables: Remove the tables of a page.
delete from page_tables where version_id = %(version)s and workspace_id = %(workspace)s and page = %(page)s;

-- tables_before: How many tables stand on pages before this one.
select count(*) as total from page_tables
where version_id = %(version)s and workspace_id = %(workspace)s and page < %(page)s;

-- lift_tables: Number the tables behind a page out of the way, or back; in two steps no two have one number.
update page_tables set ordinal = ordinal + %(by)s
where version_id = %(version)s and workspace_id = %(workspace)s and page > %(page)s;

-- put_tables: Write the tables of a page behind those before it.
insert into page_tables (version_id, ordinal, page, document_id, tenant_id, workspace_id, headings, row_count, content)
select %(version)s, %(first)s + t.n, %(page)s, %(document)s, %(tenant)s, %(workspace)s,
       array(select jsonb_array_elements_text(t.headings)), jsonb_array_length(t.content->'rows'), t.content
from unnest(%(headings)s::jsonb[], %(contents)s::jsonb[]) with ordinality as t(headings, content, n);

-- record_tables: The tables of a version are those of its text as it is now, if they were before.
update document_versions set tables_of_reads = reads
where id = %(version)s and workspace_id = %(workspace)s and tables_of_reads = reads - 1;

-- waiting: A job that has yet to begin and that does just this for this document, or for all; nobody begins it before the
-- transaction ends. One of an agent is for the agent's documents, and one that reads anew may come to nothing.
select j.id from jobs j where j.workspace_id = %(workspace)s and j.kind = %(kind)s and j.state = 'queued'
  and j.phase = 'plan' and j.payload->>'document_id' is not distinct from %(document)s::text
  and j.payload->>'agent_id' is not distinct from %(agent)s::text and not j.payload ?| array['reading', 'files']
limit 1 for share of j skip locked;

-- has_graph: Whether there is a graph of this version.
select 1 from graph_versions where version_id = %(version)s and workspace_id = %(workspace)s;
