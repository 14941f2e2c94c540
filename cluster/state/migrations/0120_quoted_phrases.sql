-- Quoted phrases are looked for by their words, whatever the planner thinks of how many documents a reader sees; and the
-- memory that a graph may take while it is built is read as what it is said to be, and refused in a sentence else.
-- Held locks: none.
-- Old code: runs beside it.

-- As before. The documents that a scope sees were taken for a few, and all of them gone through, chunk by chunk: seconds
-- for a phrase that stands in twenty of 30,000 chunks. Where an agent is linked to a few documents, or a list names them,
-- those are gone through, and else the chunks that hold the words of a phrase, which are cut once; a document is asked for
-- chunk by chunk.
create or replace function holding_literally(
    codes text[], phrases text[], most int, among text[], r_language text, r_chunker text, r_type text, r_file text,
    r_from timestamptz, r_to timestamptz, r_documents text[], r_agent uuid)
returns table (wanted text, id text, document_id text)
language sql stable security definer set search_path = public, pg_temp set plan_cache_mode = 'force_custom_plan' as $$
    with few as materialized (
        select case
            when r_documents is not null then r_documents
            when r_agent is not null
                 and not exists (select from agents a
                                 where a.id = r_agent and a.workspace_id = aos_workspace() and a.whole_workspace)
                then listed_documents(r_agent, 1000)
            end as ids
    )
    select code, held.id, held.document_id
    from unnest(codes) code, lateral (
        select c.id, c.document_id
        from document_chunks c
        join searchable_documents(aos_tenant(), aos_workspace(), r_type, r_file, r_from, r_to, r_documents, r_agent) d
          on d.id = c.document_id and d.version_id = c.version_id
        join documents owner on owner.id = d.id
        where c.atoms @> atoms_of(aos_workspace(), code)
          and lower(untypeset(c.search_text)) ~ ('(?:^|[^a-z0-9])' || replace(code, '.', '\.') || '(?:$|[^a-z0-9])')
          and (among is null or c.id = any(among))
          and c.chunker = r_chunker and c.tenant_id = aos_tenant() and c.workspace_id = aos_workspace()
          and (c.readers = '{}' or c.readers && aos_principals() or aos_principals() @> array['*'])
          and (owner.readers = '{}' or owner.readers && aos_principals() or aos_principals() @> array['*'])
        limit most) held
    union all
    select asked.phrase, held.id, held.document_id
    from (select phrase, phrase_words(r_language, phrase) as words, in_order(phrase) as content
          from unnest(phrases) phrase offset 0) asked, lateral (
        select c.id, c.document_id
        from (
            select c.id, c.document_id, c.version_id
            from document_chunks c
            where (select ids from few) is null
              and (c.lexemes @@ asked.words or among is not null and asked.words is null)
              and position(asked.content in in_order(c.search_text)) > 0
              and (among is null or c.id = any(among))
              and c.chunker = r_chunker and c.tenant_id = aos_tenant() and c.workspace_id = aos_workspace()
              and (c.readers = '{}' or c.readers && aos_principals() or aos_principals() @> array['*'])
            union all
            select c.id, c.document_id, c.version_id
            from document_chunks c
            where c.document_id = any((select ids from few)::text[])
              and (c.lexemes @@ asked.words or among is not null and asked.words is null)
              and position(asked.content in in_order(c.search_text)) > 0
              and (among is null or c.id = any(among))
              and c.chunker = r_chunker and c.tenant_id = aos_tenant() and c.workspace_id = aos_workspace()
              and (c.readers = '{}' or c.readers && aos_principals() or aos_principals() @> array['*'])
            offset 0) c
        where exists (
            select from searchable_documents(
                aos_tenant(), aos_workspace(), r_type, r_file, r_from, r_to, r_documents, r_agent) d
            join documents owner on owner.id = d.id
            where d.id = c.document_id and d.version_id = c.version_id
              and (owner.readers = '{}' or owner.readers && aos_principals() or aos_principals() @> array['*'])
            offset 0)
        limit most) held
$$;

-- As before; `aos.graph_memory_mb` is a plain number of megabytes. Postgres gives every name with a dot to whoever reads
-- it, and checks nothing.
create or replace function graph_megabytes(vectors bigint, dims int) returns bigint language plpgsql stable as $$
declare
    said text := nullif(trim(current_setting('aos.graph_memory_mb', true)), '');
    most bigint := 4096;
begin
    if said is not null then
        if said !~ '^[0-9]{1,9}$' then
            raise exception 'aos.graph_memory_mb is a number of megabytes, such as 8192, and not %', quote_literal(said)
                using errcode = 'invalid_parameter_value',
                      hint = 'alter database ... set aos.graph_memory_mb = 8192';
        end if;
        most := said::bigint;
    end if;
    return greatest(512, least(vectors * (2 * dims + 450) * 5 / 4 / 1048576, most));
end $$;
