-- What search asks of Postgres. The first two functions are plain SQL without settings of their own, so the planner
-- folds them into the query around them; row-level security then holds for the caller as in any query.

-- The documents of a workspace that a question may look into, with the version that readers see.
create function searchable_documents(
    s_tenant uuid, s_workspace uuid, s_type text, s_file text, s_from timestamptz, s_to timestamptz,
    s_documents text[], s_agent uuid)
returns table (id text, version_id text, chunk_count int, upload_date timestamptz)
language sql stable as $$
    select d.id, d.current_version, d.chunk_count, d.upload_date
    from documents d
    where d.tenant_id = s_tenant and d.workspace_id = s_workspace and d.current_version is not null
      and (s_type is null or d.file_type = s_type)
      and (s_file is null or position(lower(s_file) in lower(d.filename)) > 0)
      and (s_from is null or d.upload_date >= s_from)
      and (s_to is null or d.upload_date <= s_to)
      and (s_documents is null or d.id = any(s_documents))
      and (s_agent is null or exists (
            select from document_agent_links l
            where l.agent_id = s_agent and l.document_id = d.id and l.workspace_id = s_workspace))
$$;

-- A text search query that any of the question's words satisfies; null where only stop words are left.
create function any_word(question text) returns tsquery language sql immutable parallel safe as $$
    select string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    from unnest(to_tsvector('english', question))
$$;

-- Plain full-text ranking for servers without pg_textsearch. `@@` is not leakproof, so under row-level security a
-- caller's own query cannot use the GIN index: this function runs with its owner's rights and holds the same wall
-- itself, from the same settings that the policies read. It takes no tenant, workspace or reader from its caller.
create function rank_full_text(
    question text, depth int, r_chunker text, r_type text, r_file text, r_from timestamptz, r_to timestamptz,
    r_documents text[], r_agent uuid)
returns table (id text, document_id text, score real)
language sql stable security definer set search_path = public, pg_temp as $$
    select c.id, c.document_id, ts_rank(c.lexemes, any_word(question), 1) as score
    from document_chunks c
    join searchable_documents(aos_tenant(), aos_workspace(), r_type, r_file, r_from, r_to, r_documents, r_agent) d
      on d.id = c.document_id and d.version_id = c.version_id
    join documents owner on owner.id = d.id
    where c.lexemes @@ any_word(question)
      and c.chunker = r_chunker and c.tenant_id = aos_tenant() and c.workspace_id = aos_workspace()
      and (c.readers = '{}' or c.readers && aos_principals() or aos_principals() @> array['*'])
      and (owner.readers = '{}' or owner.readers && aos_principals() or aos_principals() @> array['*'])
    order by score desc, c.id
    limit depth
$$;
revoke all on function rank_full_text from public;
grant execute on function rank_full_text to aos_app;
