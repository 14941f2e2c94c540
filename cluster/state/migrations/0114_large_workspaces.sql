-- Large workspaces. Narrow scopes: the documents that an agent is linked to, or that few may read, are found by what makes
-- them few, and not among all documents of the workspace. And graphs of more vectors than 4 GiB hold.
-- Held locks: documents SHARE, 80 s/GiB.
-- Old code: runs beside it.

create index documents_by_readers on documents using gin (readers);

-- The documents that an agent is linked to, or, without one, that the reader of the scope sees, where they are `most` at
-- most; null where they are more, or where every reader's are seen. Policies say the same row by row, and no index can
-- answer them: this function runs with its owner's rights and holds the walls of tenant, workspace and reader itself, from
-- the same settings. It only says where to look: what is found there is under the policies again.
create function listed_documents(l_agent uuid, most int) returns text[]
language sql stable security definer set search_path = public, pg_temp set plan_cache_mode = 'force_custom_plan' as $$
    select case
        when l_agent is not null then (
            select case when count(*) <= most then coalesce(array_agg(few.document_id), '{}') end
            from (select l.document_id from document_agent_links l
                  where l.agent_id = l_agent and l.tenant_id = aos_tenant() and l.workspace_id = aos_workspace()
                  limit most + 1) few)
        when not aos_principals() @> array['*'] then (
            select case when count(*) <= most then coalesce(array_agg(few.id), '{}') end
            from (select d.id from documents d
                  where d.tenant_id = aos_tenant() and d.workspace_id = aos_workspace()
                    and (d.readers = '{}' or d.readers && aos_principals())
                  limit most + 1) few)
        end
$$;
revoke all on function listed_documents from public;
grant execute on function listed_documents to aos_app;

-- Megabytes that the graph of so many vectors needs to be built in memory: what does not fit is continued on disk, a hundred
-- times slower. Vectors at two bytes a dimension, and about 450 bytes of neighbours each. No more than `aos.graph_memory_mb`,
-- which the server's configuration may say (the embedded one's does: half of the machine); 4,096 unless it does.
create function graph_megabytes(vectors bigint, dims int) returns bigint language sql stable as $$
    select greatest(512, least(vectors * (2 * dims + 450) * 5 / 4 / 1048576,
                               coalesce(nullif(current_setting('aos.graph_memory_mb', true), '')::bigint, 4096)))
$$;

-- As before, with that memory.
create or replace function index_generation(g_id int, from_rows bigint) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare total bigint; dims int;
begin
    perform pg_advisory_xact_lock(hashtext('aos.generations'));
    if to_regclass(format('embeddings_%s_hnsw', g_id)) is not null then return false; end if;
    select dimension into dims from generations where id = g_id;
    if dims is null then return false; end if;
    execute format('select count(*) from (select 1 from embeddings_%s limit %s) rows', g_id, from_rows) into total;
    if total < from_rows then return false; end if;
    execute format('select count(*) from embeddings_%s', g_id) into total;
    -- pgvector before 0.8.2 can overflow in parallel builds.
    perform set_config('max_parallel_maintenance_workers', '0', true);
    perform set_config('maintenance_work_mem', graph_megabytes(total, dims) || 'MB', true);
    execute format('create index embeddings_%s_hnsw on embeddings_%s using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops)',
        g_id, g_id, dims);
    return true;
end $$;
