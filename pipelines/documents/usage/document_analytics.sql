-- totals: Documents that a reader sees, counted and summed in one pass: all of them, by state, by kind, by where they came from.
select grouping(d.status, d.file_type, d.source_type) as of, d.status, d.file_type, d.source_type, count(*) as documents,
       coalesce(sum(d.chunk_count), 0)::bigint as chunks, coalesce(sum(v.page_count), 0)::bigint as pages,
       coalesce(sum(v.file_size), 0)::bigint as storage_bytes,
       count(*) filter (where d.upload_date >= %(since)s) as uploads_24h
from documents d
left join document_versions v on v.id = d.current_version and v.workspace_id = %(workspace)s
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
group by grouping sets ((), (d.status), (d.file_type), (d.source_type));

-- by_source: The same of each source that is synchronised, as far as a reader sees its documents.
select s.id, s.name, s.kind, count(d.id) as documents, count(*) filter (where d.status = 'completed') as completed,
       count(*) filter (where d.status = 'failed') as failed, coalesce(sum(d.chunk_count), 0)::bigint as chunks,
       coalesce(sum(v.file_size), 0)::bigint as storage_bytes,
       count(*) filter (where d.upload_date >= %(since)s) as uploads_24h
from sources s
left join source_items i on i.source_id = s.id and i.workspace_id = %(workspace)s and i.gone_at is null
left join documents d on d.id = i.document_id and d.workspace_id = %(workspace)s
left join document_versions v on v.id = d.current_version and v.workspace_id = %(workspace)s
where s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s
group by s.id order by s.name, s.id;

-- use: How many of those documents answers have used, and how often.
select count(*) as used_documents, coalesce(sum(u.rag_query_count), 0)::bigint as rag_query_count,
       coalesce(sum(u.cited_count), 0)::bigint as cited_count, max(u.last_accessed) as last_accessed
from document_usage u where u.workspace_id = %(workspace)s and u.tenant_id = %(tenant)s;

-- most_used: Those that answers used most.
select u.document_id as id, d.filename, u.rag_query_count, u.cited_count, u.last_accessed
from document_usage u join documents d on d.id = u.document_id and d.workspace_id = %(workspace)s
where u.workspace_id = %(workspace)s and u.tenant_id = %(tenant)s
order by u.rag_query_count desc, u.document_id limit %(most)s;

-- by_workspace: Counts and sizes of each workspace of the tenant; the function gives them to its administrators only.
select workspace_id as id, name, documents, completed, failed, chunks, storage_bytes, uploads_24h
from documents_by_workspace(%(since)s::timestamptz);
