-- Words of Chinese, Japanese, Thai, Lao, Khmer and Burmese, which are written without blanks between them. A run of their
-- letters is found by its pairs of neighbours, in the index as in the question: `最大压力` is 最大 大压 压力 (as in Lucene's
-- CJKBigramFilter). A quoted phrase is a row of such pairs, so it is found where it stands.

-- Pairs of neighbours of a run, between blanks; a single letter is itself.
create function pairs_of(run text) returns text language sql immutable parallel safe as $$
    select ' ' || string_agg(substr(run, n, 2), ' ' order by n) || ' '
    from generate_series(1, greatest(length(run) - 1, 1)) n
$$;

-- A text in which such runs are cut into pairs; any other text as it is.
create function cut_runs(content text) returns text language sql immutable parallel safe as $$
    select case when content ~ '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3040-\u30FA\u30FC-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]'
        then (
            select string_agg(case when part[1] is null then part[2] else pairs_of(part[1]) end, '' order by place)
            from regexp_matches(content, '([\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3040-\u30FA\u30FC-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]+)|([^\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3040-\u30FA\u30FC-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]+)', 'g')
                with ordinality as found(part, place))
        else content end
$$;

-- As before, with such runs cut.
create or replace function untypeset(content text) returns text language sql immutable parallel safe as $$
    select case when octet_length(content) = length(content) then content else cut_runs(normalize(translate(content,
        '‘’‚‛′“”„‟″«»‹›‐‑‒–−—―…•·●▪◦‣■□→←↔×÷±≤≥≈°™®©§¶€£¥¿¡、。，；：！？（）「」『』【】' || chr(173) || chr(8203) || chr(8204) || chr(8205) || chr(8288) || chr(65279),
        '''''''''''"""""""""-----                                              '), nfkc)) end
$$;

-- As before; letters of these scripts are none of what parts words, which the C locale takes them for.
create or replace function in_order(content text) returns text language sql immutable parallel safe as $$
    select ' ' || btrim(regexp_replace(lower(untypeset(content)), '[^[:alnum:]\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3040-\u30FA\u30FC-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]+', ' ', 'g')) || ' '
$$;

-- What is there already is cut anew: generated columns follow the function only when their row is written.
update document_chunks set search_text = search_text
where search_text ~ '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3040-\u30FA\u30FC-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]';
