-- list: Documents that may be searched, by name, each with its first page, and how many there are in all.
select d.id as document_id, d.filename, v.id as version_id, v.page_count, p.number, p.text, p.words, p.engine,
       p.confidence, caveats_of(v.id, array[1]) as caveats, count(*) over () as total
from searchable_documents(%(tenant)s, %(workspace)s, null, null, null, null, null, %(agent)s::uuid) s
join documents d on d.id = s.id and d.workspace_id = %(workspace)s
join document_versions v on v.id = s.version_id and v.workspace_id = %(workspace)s
left join pages p on p.version_id = v.id and p.number = 1 and p.workspace_id = %(workspace)s and p.tenant_id = %(tenant)s
order by lower(d.filename), d.id limit %(most)s;

-- named: Documents that may be searched whose file names are written in a text, with or without what follows the last
-- dot, the longest name first; marks between the words of a name do not count.
select d.id as document_id, d.filename
from searchable_documents(%(tenant)s, %(workspace)s, null, null, null, null, null, %(agent)s::uuid) s
join documents d on d.id = s.id and d.workspace_id = %(workspace)s
where length(regexp_replace(d.filename, '\.[^.]*$', '')) >= 3
  and position(' ' || translate(lower(regexp_replace(d.filename, '\.[^.]*$', '')), '-_.,', '    ') || ' '
               in ' ' || translate(lower(%(text)s), '-_.,?!"', '       ') || ' ') > 0
order by length(d.filename) desc, d.upload_date desc, d.id limit %(most)s;

-- chunks: Chunks of a document that may be searched, of the live index, in its order; of more than `most` an even choice.
select id from (
    select c.id, c.chunk_index, row_number() over (order by c.chunk_index) - 1 as place, count(*) over () as chunks
    from searchable_documents(%(tenant)s, %(workspace)s, null, null, null, null, array[%(document)s::text],
                              %(agent)s::uuid) s
    join document_chunks c on c.document_id = s.id and c.version_id = s.version_id
    join workspaces w on w.id = %(workspace)s and w.tenant_id = %(tenant)s
    join generations g on g.id = w.generation_id and g.chunker = c.chunker
    where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s) own
where place * %(most)s / greatest(chunks, %(most)s) is distinct from (place - 1) * %(most)s / greatest(chunks, %(most)s)
   or place = 0
order by chunk_index;
