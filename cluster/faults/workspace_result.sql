-- workspace_result: what a workspace holds after reading, hashed without what is its own: ids, times, engines' times.
with mine as (
    select d.id, d.origin, d.status, d.current_version
    from documents d where d.workspace_id = %(workspace)s::uuid
), read_pages as (
    select p.document_id, p.number, p.version_id = m.current_version as is_current,
        concat_ws(' ', 'page', m.origin, p.number, (p.failure is not null), md5(p.text)) as line
    from pages p join mine m on m.id = p.document_id where p.workspace_id = %(workspace)s::uuid
), cut as (
    select c.document_id, c.chunker, c.chunk_index, c.version_id = m.current_version as is_current,
        concat_ws(' ', 'chunk', m.origin, c.chunk_index, c.page_start, c.page_end, md5(c.text)) as line
    from document_chunks c join mine m on m.id = c.document_id where c.workspace_id = %(workspace)s::uuid
), lines as (
    select concat_ws(' ', 'document', origin, status) as line from mine
    union all select line from read_pages where is_current
    union all select line from cut where is_current
)
select
    (select count(*) from mine) as documents,
    (select count(*) from read_pages where is_current) as pages,
    (select count(*) - count(distinct (document_id, number)) from read_pages) as pages_twice,
    (select count(*) from cut where is_current) as chunks,
    (select count(*) - count(distinct (document_id, chunker, chunk_index)) from cut) as chunks_twice,
    (select count(*) from embeddings e join workspaces w on w.generation_id = e.generation_id
        where w.id = %(workspace)s::uuid and e.workspace_id = %(workspace)s::uuid) as vectors,
    (select encode(sha256(convert_to(coalesce(string_agg(line, chr(10) order by line collate "C"), ''), 'UTF8')), 'hex')
        from lines) as hash;
