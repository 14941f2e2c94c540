-- add: Passages that answers used; an answer that was kept before is not counted again. A document that somebody has locked
-- is passed over: a flush never waits for who deletes documents, nor they for it.
with given as (
    select * from unnest(%(uses)s::uuid[], %(documents)s::text[], %(chunks)s::text[], %(scores)s::real[], %(cited)s::boolean[],
                         %(at)s::timestamptz[]) as g(use_id, document_id, chunk_id, score, cited, at)),
here as (
    select d.id from documents d
    where d.id = any(%(documents)s::text[]) and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
    order by d.id for key share skip locked),
kept as (
    insert into context_usage (use_id, document_id, chunk_id, tenant_id, workspace_id, relevance_score, used_in_response, used_at)
    select g.use_id, g.document_id, g.chunk_id, %(tenant)s, %(workspace)s, g.score, g.cited, g.at
    from given g join here h on h.id = g.document_id
    on conflict (use_id, document_id, chunk_id) do nothing
    returning use_id, document_id, used_in_response, used_at)
insert into document_usage as u (document_id, tenant_id, workspace_id, rag_query_count, cited_count, last_accessed)
select k.document_id, %(tenant)s, %(workspace)s, count(distinct k.use_id),
       count(distinct k.use_id) filter (where k.used_in_response), max(k.used_at)
from kept k group by k.document_id order by k.document_id
on conflict (document_id) do update set rag_query_count = u.rag_query_count + excluded.rag_query_count,
    cited_count = u.cited_count + excluded.cited_count, last_accessed = greatest(u.last_accessed, excluded.last_accessed);

-- newest: The passages of a document that answers used last; their page where the chunk is still there.
select u.chunk_id, u.relevance_score, u.used_in_response, u.used_at, c.page_start as page
from context_usage u
left join document_chunks c on c.id = u.chunk_id and c.workspace_id = %(workspace)s
where u.document_id = %(document)s and u.workspace_id = %(workspace)s and u.tenant_id = %(tenant)s
order by u.used_at desc, u.used_in_response desc, u.relevance_score desc nulls last, u.chunk_id limit %(most)s;
