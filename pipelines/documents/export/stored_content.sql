-- versions: The versions that readers see, in the order of their documents' ids: of one document, or of all that the
-- reader may see. Where its tables were not looked for yet, or in an older text, a version has no tables that are known.
select d.id as document_id, d.filename, d.status, v.id as version_id, v.kind, v.file_hash, v.page_count,
       coalesce(v.tables_of_reads = v.reads, false) as has_known_tables
from documents d join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.id > %(after)s
  and (%(document)s::text is null or d.id = %(document)s)
order by d.id limit %(limit)s;

-- pages: Some pages of a version as they were read, those after a number.
select p.number, p.text, p.words, p.engine, p.confidence, p.attempts, p.ms, p.failure, p.caveats
from pages p
where p.version_id = %(version)s and p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s and p.number > %(after)s
order by p.number limit %(limit)s;

-- tables: Some tables of a version, those after a number.
select t.ordinal, t.content from page_tables t
where t.version_id = %(version)s and t.tenant_id = %(tenant)s and t.workspace_id = %(workspace)s
  and t.ordinal > %(after)s
order by t.ordinal limit %(limit)s;

-- chunks: Some chunks of a version in the generation that is searched, those after a number, with their vectors if
-- these are asked for.
select c.chunk_index as number, c.id, c.text, c.headings, c.page_start, c.page_end, c.spans, c.boxes, c.engine,
       c.confidence, g.embedder, case when %(vectors)s then e.embedding::text end as embedding
from document_chunks c
join workspaces w on w.id = c.workspace_id
join generations g on g.id = w.generation_id and g.chunker = c.chunker
left join embeddings e on %(vectors)s and e.generation_id = g.id and e.chunk_id = c.id and e.workspace_id = c.workspace_id
where c.version_id = %(version)s and c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s
  and c.chunk_index > %(after)s
order by c.chunk_index limit %(limit)s;
