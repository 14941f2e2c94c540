-- Words are cut in the language that they are in: each chunk's own, as it was detected, where a workspace's language is
-- `auto`, as that of new ones is. A question is read in its own language and in those of the chunks that it is put to.

-- Text as the word parser understands it, as before; the question marks, commas and full stops of other scripts are no
-- letters either, their digits are digits, and marks of direction and the Arabic stretch are nothing.
create or replace function untypeset(content text) returns text language sql immutable parallel safe as $$
    select case when octet_length(content) = length(content) then content else normalize(translate(content,
        '‘’‚‛′“”„‟″«»‹›‐‑‒–−'
            || '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹٫'
            || '—―…•·●▪◦‣■□→←↔×÷±≤≥≈°™®©§¶€£¥¿¡、。，；：！？（）「」『』【】'
            || '،؛؟٪۔؍।॥՛՜՝՞։׃׀־።፣፤፥፦፧〈〉《》〔〕〖〗・～〜'
            || chr(903) || chr(173) || chr(8203) || chr(8204) || chr(8205) || chr(8206) || chr(8207) || chr(1564) || chr(1600)
            || chr(8288) || chr(65279),
        '''''''''''"""""""""-----'
            || '01234567890123456789.'
            || repeat(' ', 80)), nfkc) end
$$;

-- What is there is cut anew where that makes a difference: generated columns follow a column that is set to what it was.
-- A keyword index that nobody believes would only be in the way; a worker makes it anew. It comes before the changes of
-- `workspaces`, whose lock nobody reads past.
create function is_marked(content text) returns boolean language sql immutable parallel safe as $$
    select octet_length(content) > length(content)
        and content ~ '[٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹٫،؛؟٪۔؍।॥՛՜՝՞։׃׀־።፣፤፥፦፧〈〉《》〔〕〖〗・～〜\u0387\u200e\u200f\u061c\u0640]'
$$;
create temporary table cut_anew on commit drop as
select id, workspace_id from document_chunks
where is_marked(search_text)
  and (lexemes is distinct from words_of(language, search_text)
       or atoms is distinct from atoms_of(workspace_id, search_text));
do $$ begin
    if to_regclass('document_chunks_bm25') is not null and keyword_index_worn() and exists (select from cut_anew) then
        drop index document_chunks_bm25;
    end if;
end $$;
update document_chunks c set language = c.language from cut_anew where c.id = cut_anew.id;
update workspaces set corpus_version = corpus_version + 1 where id in (select workspace_id from cut_anew);
drop function is_marked(text);

alter table workspaces alter column language set default 'auto';
-- The stemmers of a workspace's chunks, in the order in which they came.
alter table workspaces add column stemmers text[] not null default '{}';
update workspaces w set stemmers = array[w.language]
where exists (select from document_chunks c where c.workspace_id = w.id and c.tenant_id = w.tenant_id);

-- The language of chunks of which none is told.
create or replace function aos_language() returns text language sql stable
    as $$ select coalesce((select nullif(language, 'auto') from workspaces where id = aos_workspace()), 'english') $$;

-- A word with its places, as a tsvector is written.
create function written_word(lexeme text, positions smallint[]) returns text language sql immutable parallel safe as $$
    select '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''':' || array_to_string(positions, ',')
$$;

-- The words that a question in one language (`own`, whose stop words are left out) is looked for by in texts of another:
-- pairs of letters of scripts without spaces, and single letters only where one stands alone. A parser's places of
-- words are the same whatever the language.
create function asked_words_as(own text, language text, question text) returns tsvector
language sql immutable parallel safe as $$
    with asked as (
        select case when is_unspaced(question) then unjoined(untypeset(question), false) else untypeset(question) end
            as content
    )
    select case when own = language then to_tsvector(('pg_catalog.' || own)::regconfig, content) else (
        select coalesce(string_agg(written_word(word.lexeme, word.positions), ' '), '')::tsvector
        from unnest(to_tsvector(('pg_catalog.' || language)::regconfig, content)) word,
            (select array_agg(at) as places
             from unnest(to_tsvector(('pg_catalog.' || own)::regconfig, content)) said, unnest(said.positions) at) kept
        where word.positions && kept.places) end
    from asked
$$;

-- As before; `language` may name several, separated by commas: the question's own, and then those of the texts. Each
-- word is there as each of them cuts it, once.
create or replace function asked_words(language text, question text) returns tsvector
language sql immutable parallel safe as $$
    select case when position(',' in language) = 0 then asked_words_as(language, language, question) else (
        select coalesce(string_agg(written_word(lexeme, positions), ' '), '')::tsvector
        from (
            select distinct on (word.lexeme) word.lexeme, word.positions
            from unnest(string_to_array(language, ',')) with ordinality as given(stemmer, place),
                unnest(asked_words_as(split_part(language, ',', 1), stemmer, question)) word
            order by word.lexeme, cardinality(word.positions) desc, place) cut) end
$$;

-- What a chunk's score counts for: half where a question is surely in another language. Names are written alike in many
-- languages, and who asks in one reads that one first.
create function language_weight(language text, own text) returns float8 language sql immutable parallel safe as $$
    select case when own is null or language = own then 1.0 else 0.5 end
$$;

-- The words of a phrase in their order, next to each other, as any of the languages cuts them.
create or replace function phrase_words(language text, phrase text) returns tsquery
language sql immutable parallel safe as $$
    select string_agg('(' || words::text || ')', ' | ')::tsquery
    from unnest(string_to_array(language, ',')) stemmer, phraseto_tsquery(('pg_catalog.' || stemmer)::regconfig,
        case when is_unspaced(phrase) then unjoined(untypeset(phrase), false) else untypeset(phrase) end) words
    where numnode(words) > 0
$$;

-- Another language for a workspace: its chunks' words are cut anew, in the caller's transaction. The caller's scope has
-- to see every reader's chunks. With `auto` nothing is cut here: `set_chunk_languages` follows.
create or replace function set_language(new_language text) returns bigint language plpgsql as $$
declare changed bigint;
begin
    if new_language <> 'auto' and not exists (
        select from pg_ts_config where cfgname = new_language and cfgnamespace = 'pg_catalog'::regnamespace) then
        raise exception 'unknown language %', new_language using errcode = 'invalid_parameter_value';
    end if;
    update workspaces set language = new_language, corpus_version = corpus_version + 1,
        stemmers = case when new_language = 'auto' or stemmers = '{}' then stemmers else array[new_language] end
    where id = aos_workspace() and language <> new_language;
    if new_language = 'auto' then
        return 0;
    end if;
    update document_chunks set language = new_language
    where workspace_id = aos_workspace() and language <> new_language;
    get diagnostics changed = row_count;
    return changed;
end $$;

-- The languages of given chunks of a workspace, one each; how many were cut anew.
create function set_chunk_languages(chunks text[], languages text[]) returns bigint language plpgsql as $$
declare changed bigint;
begin
    update document_chunks c set language = given.language
    from unnest(chunks, languages) as given(id, language)
    where c.id = given.id and c.workspace_id = aos_workspace() and c.language <> given.language;
    get diagnostics changed = row_count;
    return changed;
end $$;

-- Note which stemmers some chunks of a workspace have. It is asked with every write, and seldom changes a row.
create function note_stemmers(languages text[]) returns void language sql as $$
    update workspaces w
    set stemmers = w.stemmers || array(select distinct one from unnest(languages) one where one <> all(w.stemmers))
    where w.id = aos_workspace() and not languages <@ w.stemmers
$$;

-- As before, but that a phrase of nothing but stop words, which no index finds, is looked for in the given chunks.
create or replace function holding_literally(
    codes text[], phrases text[], most int, among text[], r_language text, r_chunker text, r_type text, r_file text,
    r_from timestamptz, r_to timestamptz, r_documents text[], r_agent uuid)
returns table (wanted text, id text, document_id text)
language sql stable security definer set search_path = public, pg_temp set plan_cache_mode = 'force_custom_plan' as $$
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
        where (c.lexemes @@ phrase_words(r_language, phrase)
               or among is not null and phrase_words(r_language, phrase) is null)
          and position(in_order(phrase) in in_order(c.search_text)) > 0
          and (among is null or c.id = any(among))
          and c.chunker = r_chunker and c.tenant_id = aos_tenant() and c.workspace_id = aos_workspace()
          and (c.readers = '{}' or c.readers && aos_principals() or aos_principals() @> array['*'])
          and (owner.readers = '{}' or owner.readers && aos_principals() or aos_principals() @> array['*'])
        limit most) held
$$;
