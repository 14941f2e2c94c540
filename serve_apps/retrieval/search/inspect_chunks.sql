-- sample: Some chunks of the documents that an agent may search, newest document first, and whether each has a vector.
select c.id as chunk_id, c.document_id, d.filename, c.page_start as page, c.chunk_index, left(c.text, 500) as text,
       length(c.text) as characters, c.metadata->>'chunking_method' as method, c.metadata->'metrics' as metrics,
       (c.metadata->'parent'->>'ordinal')::int as parent,
       exists (select from embeddings e
               where e.chunk_id = c.id and e.workspace_id = %(workspace)s and e.generation_id = w.generation_id) as embedded
from searchable_documents(%(tenant)s, %(workspace)s, null, null, null, null, null, %(agent)s::uuid) s
join documents d on d.id = s.id and d.workspace_id = %(workspace)s
join document_chunks c on c.document_id = s.id and c.version_id = s.version_id
join workspaces w on w.id = %(workspace)s and w.tenant_id = %(tenant)s
join generations g on g.id = w.generation_id and g.chunker = c.chunker
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s
order by s.upload_date desc, s.id, c.chunk_index limit %(most)s;
