-- How chunks are found by their words: in the language of their workspace, whatever the typesetter did to them, and
-- by identifiers as they are written.

-- Text as the word parser understands it. In a database of the C locale the parser takes every character beyond ASCII
-- for a letter, so a typographic quote, dash or bullet would become part of the word beside it. What is last in the
-- first list and has no partner in the second is removed.
create function untypeset(content text) returns text language sql immutable parallel safe as $$
    select case when octet_length(content) = length(content) then content else normalize(translate(content,
        '‘’‚‛′“”„‟″«»‹›‐‑‒–−—―…•·●▪◦‣■□→←↔×÷±≤≥≈°™®©§¶€£¥¿¡、。，；：！？（）「」『』【】' || chr(173) || chr(8203) || chr(8204) || chr(8205) || chr(8288) || chr(65279),
        '''''''''''"""""""""-----                                              '), nfkc) end
$$;

-- The words of a text, endings cut as its language cuts them; `simple` cuts none. A configuration's name is looked up,
-- which makes the cast stable; those of pg_catalog do not change, so the function may call itself immutable.
create function words_of(language text, content text) returns tsvector language sql immutable parallel safe as $$
    select to_tsvector(('pg_catalog.' || language)::regconfig, untypeset(content))
$$;

-- The same words as a text that any parser splits at its blanks alone: what the BM25 index is made of, so that one
-- index serves every language. A word that is not made of letters only (`-1147`, `state-of-the-art`) is a digest.
create function terms_of(language text, content text) returns text language sql immutable parallel safe as $$
    select coalesce(string_agg(repeat(case when word.lexeme ~ '^[[:alpha:]]+$' then word.lexeme
        else translate(left(md5(word.lexeme), 14), '0123456789', 'ghijklmnop') end || ' ',
        cardinality(word.positions)), '' order by word.positions[1], word.lexeme), '')
    from unnest(words_of(language, content)) word
$$;

-- The parts of what may be an identifier (a run with a joint, with letters and digits, or five digits and more), each
-- with the workspace before it: an index entry never spans workspaces.
create function atoms_of(workspace uuid, content text) returns text[] language sql immutable parallel safe as $$
    select coalesce(array_agg(distinct left(workspace::text, 8) || ':' || left(part, 64)), '{}')
    from regexp_matches(lower(untypeset(content)),
        '[a-z0-9]+(?:[-_./:#][a-z0-9]+)+|[a-z]+[0-9][a-z0-9]*|[0-9]+[a-z][a-z0-9]*|[0-9]{5,}', 'g') token,
        regexp_split_to_table(token[1], '[-_./:#]') part
$$;

-- A text as its words in order, between single blanks: a phrase stands in it if its own such text does.
create function in_order(content text) returns text language sql immutable parallel safe as $$
    select ' ' || btrim(regexp_replace(lower(untypeset(content)), '[^[:alnum:]]+', ' ', 'g')) || ' '
$$;

alter table workspaces add column language text not null default 'english';
create function aos_language() returns text language sql stable
    as $$ select coalesce((select language from workspaces where id = aos_workspace()), 'english') $$;

alter table document_chunks add column language text not null default 'english';
alter table document_chunks alter column language set default aos_language();
alter table document_chunks drop column lexemes;
alter table document_chunks
    add column lexemes tsvector generated always as (words_of(language, search_text)) stored,
    add column atoms text[] generated always as (atoms_of(workspace_id, search_text)) stored;
create index document_chunks_lexemes on document_chunks using gin (lexemes);
create index document_chunks_atoms on document_chunks using gin (atoms);

do $$ begin
    if to_regclass('document_chunks_bm25') is not null then
        drop index document_chunks_bm25;
        alter table document_chunks
            add column terms text generated always as (terms_of(language, search_text)) stored;
        execute 'create index document_chunks_bm25 on document_chunks using bm25 (terms) '
            'with (text_config = ''simple'', k1 = 0.9, b = 0.4)';
    end if;
end $$;

-- Another language for a workspace: its chunks' words are cut anew, in the caller's transaction. The caller's scope
-- has to see every reader's chunks.
create function set_language(new_language text) returns bigint language plpgsql as $$
declare changed bigint;
begin
    if not exists (select from pg_ts_config where cfgname = new_language and cfgnamespace = 'pg_catalog'::regnamespace) then
        raise exception 'unknown language %', new_language using errcode = 'invalid_parameter_value';
    end if;
    update workspaces set language = new_language, corpus_version = corpus_version + 1
    where id = aos_workspace() and language <> new_language;
    update document_chunks set language = new_language
    where workspace_id = aos_workspace() and language <> new_language;
    get diagnostics changed = row_count;
    return changed;
end $$;

drop function rank_full_text;
drop function any_word;

-- A text search query that any of the question's words satisfies; null where only stop words are left.
create function any_word(language text, question text) returns tsquery language sql immutable parallel safe as $$
    select string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    from unnest(words_of(language, question))
$$;

-- Plain full-text ranking for servers without pg_textsearch. `@@` is not leakproof, so under row-level security a
-- caller's own query cannot use the GIN index: this function runs with its owner's rights and holds the same wall
-- itself, from the same settings that the policies read. It takes no tenant, workspace or reader from its caller.
create function rank_full_text(
    question text, depth int, r_language text, r_chunker text, r_type text, r_file text, r_from timestamptz,
    r_to timestamptz, r_documents text[], r_agent uuid)
returns table (id text, document_id text, score real)
language sql stable security definer set search_path = public, pg_temp as $$
    select c.id, c.document_id, ts_rank(c.lexemes, any_word(r_language, question), 1) as score
    from document_chunks c
    join searchable_documents(aos_tenant(), aos_workspace(), r_type, r_file, r_from, r_to, r_documents, r_agent) d
      on d.id = c.document_id and d.version_id = c.version_id
    join documents owner on owner.id = d.id
    where c.lexemes @@ any_word(r_language, question)
      and c.chunker = r_chunker and c.tenant_id = aos_tenant() and c.workspace_id = aos_workspace()
      and (c.readers = '{}' or c.readers && aos_principals() or aos_principals() @> array['*'])
      and (owner.readers = '{}' or owner.readers && aos_principals() or aos_principals() @> array['*'])
    order by score desc, c.id
    limit depth
$$;

-- Chunks in which an identifier or a phrase stands as it is written, at most `most` of each. With its owner's rights
-- for the same reason, and behind the same wall. `among` narrows to given chunks.
create function holding_literally(
    codes text[], phrases text[], most int, among text[], r_language text, r_chunker text, r_type text, r_file text,
    r_from timestamptz, r_to timestamptz, r_documents text[], r_agent uuid)
returns table (wanted text, id text, document_id text)
language sql stable security definer set search_path = public, pg_temp as $$
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
    select phrase, held.id, held.document_id
    from unnest(phrases) phrase, lateral (
        select c.id, c.document_id
        from document_chunks c
        join searchable_documents(aos_tenant(), aos_workspace(), r_type, r_file, r_from, r_to, r_documents, r_agent) d
          on d.id = c.document_id and d.version_id = c.version_id
        join documents owner on owner.id = d.id
        where c.lexemes @@ phraseto_tsquery(('pg_catalog.' || r_language)::regconfig, untypeset(phrase))
          and position(in_order(phrase) in in_order(c.search_text)) > 0
          and (among is null or c.id = any(among))
          and c.chunker = r_chunker and c.tenant_id = aos_tenant() and c.workspace_id = aos_workspace()
          and (c.readers = '{}' or c.readers && aos_principals() or aos_principals() @> array['*'])
          and (owner.readers = '{}' or owner.readers && aos_principals() or aos_principals() @> array['*'])
        limit most) held
$$;

revoke all on function rank_full_text, holding_literally from public;
grant execute on function rank_full_text, holding_literally to aos_app;

-- As before, with the memory that the graph needs: one that outgrows `maintenance_work_mem` is continued on disk, a
-- hundred times slower. Vectors at two bytes a dimension, and about 450 bytes of neighbours each.
create or replace function index_generation(g_id int, from_rows bigint) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare total bigint; dims int; megabytes bigint;
begin
    perform pg_advisory_xact_lock(hashtext('aos.generations'));
    if to_regclass(format('embeddings_%s_hnsw', g_id)) is not null then return false; end if;
    select dimension into dims from generations where id = g_id;
    if dims is null then return false; end if;
    execute format('select count(*) from (select 1 from embeddings_%s limit %s) rows', g_id, from_rows) into total;
    if total < from_rows then return false; end if;
    execute format('select count(*) from embeddings_%s', g_id) into total;
    megabytes := greatest(512, least(total * (2 * dims + 450) * 5 / 4 / 1048576, 4096));
    -- pgvector before 0.8.2 can overflow in parallel builds.
    perform set_config('max_parallel_maintenance_workers', '0', true);
    perform set_config('maintenance_work_mem', megabytes || 'MB', true);
    execute format('create index embeddings_%s_hnsw on embeddings_%s using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops)',
        g_id, g_id, dims);
    return true;
end $$;
