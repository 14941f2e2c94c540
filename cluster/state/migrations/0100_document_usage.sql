-- Use of documents in answers. Nobody who asked is in it, and no question: `use_id` is made of the answer's id, leads back
-- to none, and only says of two rows that they are of one answer.

-- How often, for each document: of answers that had it before them, and of those that cite it.
create table document_usage (
    document_id text primary key references documents on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    rag_query_count bigint not null check (rag_query_count >= 0),
    cited_count bigint not null check (cited_count between 0 and rag_query_count),
    last_accessed timestamptz not null
);
create index on document_usage (workspace_id, rag_query_count desc, document_id);

-- The passages of each answer, until retention takes them: the counts stay. No foreign key to the chunk, which a document
-- that is read again has others of; a row without one is of the document's table.
create table context_usage (
    use_id uuid not null,
    document_id text not null references documents on delete cascade,
    chunk_id text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    relevance_score real,
    used_in_response boolean not null,
    used_at timestamptz not null,
    primary key (use_id, document_id, chunk_id)
);
create index on context_usage (document_id, used_at desc);
create index on context_usage (workspace_id, used_at);

do $$
declare
    name text;
begin
    -- Seen by whoever sees the document; the inner query is under documents' own policy.
    foreach name in array array['document_usage', 'context_usage'] loop
        execute format('create policy belongs on %I using (tenant_id = (select aos_tenant()) and workspace_id = '
                       '(select aos_workspace()) and exists (select 1 from documents d where d.id = document_id))', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

-- Counts and sizes of each workspace of a tenant, for its administrators, whom row-level security keeps inside of one:
-- numbers of all documents, whoever may read them, and nothing of them.
create function documents_by_workspace(since timestamptz)
returns table (workspace_id uuid, name text, documents bigint, completed bigint, failed bigint, chunks bigint,
               storage_bytes bigint, uploads_24h bigint)
language sql stable security definer set search_path = public, pg_temp as $$
    select w.id, w.name, count(d.id), count(*) filter (where d.status = 'completed'),
           count(*) filter (where d.status = 'failed'), coalesce(sum(d.chunk_count), 0)::bigint,
           coalesce(sum(v.file_size), 0)::bigint, count(*) filter (where d.upload_date >= since)
    from workspaces w
    left join documents d on d.workspace_id = w.id
    left join document_versions v on v.id = d.current_version
    where w.tenant_id = aos_tenant() and aos_principals() && array['role:admin', '*']
    group by w.id order by w.created_at, w.id
$$;
revoke execute on function documents_by_workspace(timestamptz) from public;
grant execute on function documents_by_workspace(timestamptz) to aos_app;
