-- Words of scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) are found by words. What
-- stands between two spaces is a sentence there, and was one word; now it is every two letters that stand side by side
-- (overlapping bigrams, as Lucene's CJKBigramFilter has it), in the keyword index, the exact way and Postgres' full text
-- alike. Text of other scripts has the words that it had.

-- Whether a text has letters of such scripts: Han with the marks that repeat it, kana, Thai, Lao, Khmer, Burmese. Their
-- digits are numbers among others.
create function is_unspaced(content text) returns boolean language sql immutable parallel safe as $$
    select octet_length(content) > length(content)
        and content ~ '[\uff66-\uff9f\u3300-\u33ff\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1780-\u17d3\u17d7\u17dc\u17dd\u1000-\u103f\u104c-\u109d\uaa60-\uaa7f]'
$$;

-- A text with such runs of letters as pairs between blanks; a letter that stands alone is itself. With `singly`, each letter
-- of a run stands once more at the end, where it parts no pairs: a text is found by one letter, too. A letter is what a
-- reader takes for one: with the vowels and tones over, under and behind it, and with what is stacked below it.
create function unjoined(content text, singly boolean) returns text language sql immutable parallel safe as $$
    with letters as (
        select run.n, letter.i, translate(run.m[1], '《》〈〉〔〕〖〗・～〜※။၊។៕៖៚', '') as other, letter.m[1] as one,
               lead(letter.m[1]) over (partition by run.n order by letter.i) as next
        from regexp_matches(content,
            '[\uff66-\uff9f\u3300-\u33ff\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1780-\u17d3\u17d7\u17dc\u17dd\u1000-\u103f\u104c-\u109d\uaa60-\uaa7f]+|[^\uff66-\uff9f\u3300-\u33ff\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1780-\u17d3\u17d7\u17dc\u17dd\u1000-\u103f\u104c-\u109d\uaa60-\uaa7f]+',
            'g') with ordinality run(m, n)
        left join lateral regexp_matches(run.m[1],
            '[\uff66-\uff9f\u3300-\u33ff\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1780-\u17d3\u17d7\u17dc\u17dd\u1000-\u103f\u104c-\u109d\uaa60-\uaa7f](?:[\u17d2\u1039][\uff66-\uff9f\u3300-\u33ff\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1780-\u17d3\u17d7\u17dc\u17dd\u1000-\u103f\u104c-\u109d\uaa60-\uaa7f]|[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u17b4-\u17d1\u17d3\u17dd\u102b-\u1038\u103a-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\uaa7b-\uaa7d])*',
            'g') with ordinality letter(m, i) on true)
    select string_agg(case when one is null then other
                           when next is not null then ' ' || one || next || ' '
                           when i = 1 then ' ' || one || ' '
                           else '' end, '' order by n, i)
        || case when singly then coalesce(string_agg(' ' || one, '' order by n, i)
                filter (where i > 1 or next is not null), '') else '' end
    from letters
$$;

-- As before, but for such scripts.
create or replace function words_of(language text, content text) returns tsvector
language sql immutable parallel safe as $$
    select to_tsvector(('pg_catalog.' || language)::regconfig,
        case when is_unspaced(content) then unjoined(untypeset(content), true) else untypeset(content) end)
$$;

-- The words that a question is looked for by: pairs, and single letters only where one stands alone. All its letters would
-- meet nearly every text.
create function asked_words(language text, question text) returns tsvector
language sql immutable parallel safe as $$
    select to_tsvector(('pg_catalog.' || language)::regconfig,
        case when is_unspaced(question) then unjoined(untypeset(question), false) else untypeset(question) end)
$$;

-- Words as a text that any parser splits at its blanks alone, as the keyword index has them.
create function as_terms(words tsvector) returns text language sql immutable parallel safe as $$
    select coalesce(string_agg(repeat(case when word.lexeme ~ '^[[:alpha:]]+$' then word.lexeme
        else translate(left(md5(word.lexeme), 14), '0123456789', 'ghijklmnop') end || ' ',
        cardinality(word.positions)), '' order by word.positions[1], word.lexeme), '')
    from unnest(words) word
$$;
create or replace function terms_of(language text, content text) returns text
language sql immutable parallel safe as $$ select as_terms(words_of(language, content)) $$;
create function asked_terms(language text, question text) returns text
language sql immutable parallel safe as $$ select as_terms(asked_words(language, question)) $$;

create or replace function any_word(language text, question text) returns tsquery
language sql immutable parallel safe as $$
    select string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    from unnest(asked_words(language, question))
$$;

-- The words of a phrase in their order, next to each other.
create function phrase_words(language text, phrase text) returns tsquery language sql immutable parallel safe as $$
    select phraseto_tsquery(('pg_catalog.' || language)::regconfig,
        case when is_unspaced(phrase) then unjoined(untypeset(phrase), false) else untypeset(phrase) end)
$$;

-- As before; each letter of such a script is a word there, as a phrase may begin and end within a run of them.
create or replace function in_order(content text) returns text language sql immutable parallel safe as $$
    select ' ' || btrim(regexp_replace(case when is_unspaced(plain) then regexp_replace(plain,
            '([\uff66-\uff9f\u3300-\u33ff\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1780-\u17d3\u17d7\u17dc\u17dd\u1000-\u103f\u104c-\u109d\uaa60-\uaa7f])', ' \1 ', 'g')
        else plain end, '[^[:alnum:]]+', ' ', 'g')) || ' '
    from lower(untypeset(content)) plain
$$;

-- As before, but that a phrase's words are those of `phrase_words`.
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
        where c.lexemes @@ phrase_words(r_language, phrase)
          and position(in_order(phrase) in in_order(c.search_text)) > 0
          and (among is null or c.id = any(among))
          and c.chunker = r_chunker and c.tenant_id = aos_tenant() and c.workspace_id = aos_workspace()
          and (c.readers = '{}' or c.readers && aos_principals() or aos_principals() @> array['*'])
          and (owner.readers = '{}' or owner.readers && aos_principals() or aos_principals() @> array['*'])
        limit most) held
$$;

-- What is there is cut anew: its generated columns follow a column that is set to what it was. A keyword index that nobody
-- believes would only be in the way; a worker makes it anew.
do $$ begin
    if to_regclass('document_chunks_bm25') is not null and keyword_index_worn()
       and exists (select from document_chunks where is_unspaced(search_text)) then
        drop index document_chunks_bm25;
    end if;
end $$;
with cut as (
    update document_chunks set language = language where is_unspaced(search_text) returning workspace_id
)
update workspaces set corpus_version = corpus_version + 1 where id in (select workspace_id from cut);
