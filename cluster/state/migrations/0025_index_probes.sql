-- The keyword index is probed as graphs are. One that meets a damaged page says so once, to whoever comes first, a vacuum
-- or somebody who writes; from then on it finds nothing and is silent.

alter table index_faults
    add column made timestamptz, -- anew, the last time
    add column times bigint not null default 1; -- it was found to be at fault
update index_faults set made = renewed;

create or replace function index_renewed(index_name text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update index_faults set renewed = now(), made = now() where name = index_name
$$;

-- From now on an index is not asked. What was remembered of searches through it may lack something, and nothing else would
-- tell, for no document changed: `times` counts with the revision of the corpus that such memories rest on.
create or replace function distrust_index(index_name text, why text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into index_faults (name, what) select index_name, left(why, 500)
    where index_name ~ '^(document_chunks_bm25|embeddings_[0-9]+_hnsw)$' and to_regclass(index_name) is not null
    on conflict (name) do update
        set what = excluded.what, noticed = now(), renewed = null, times = index_faults.times + 1
        where index_faults.renewed is not null
$$;

-- As before, but that one which fails is made anew once an hour at most: whoever asks something odd must not have all who
-- write wait again and again.
create or replace function make_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp
set lock_timeout = '10s' set maintenance_work_mem = '512MB' as $$
begin
    if not pg_try_advisory_xact_lock(hashtext('aos.keyword_index')) then return false; end if;
    if not keyword_index_worn() or to_regclass('document_chunks_bm25') is not null then return false; end if;
    if exists (select from index_faults where name = 'document_chunks_bm25' and renewed is null
                                          and made between now() - interval '1 hour' and now())
    then return false; end if;
    execute 'create index document_chunks_bm25 on document_chunks using bm25 (terms) '
        'with (text_config = ''simple'', k1 = 0.9, b = 0.4)';
    delete from keyword_index_made;
    insert into keyword_index_made values (pg_postmaster_start_time());
    perform index_renewed('document_chunks_bm25');
    return true;
end $$;

-- Of how many of some chunks, taken at random, the keyword index finds one that holds the same words: their longest, which
-- are rare. Null where there is no index to believe, or too few chunks to judge by.
create function keyword_reach(chunks int) returns real
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off set enable_sort = off as $$
declare share real; drawn text[]; held boolean; asked int := 0; met int := 0;
begin
    if to_regclass('document_chunks_bm25') is null or keyword_index_worn() then return null; end if;
    -- Whole pages are drawn, which hold a few rows each: more than are wanted. Of a table that nobody counted, all are.
    select case when reltuples > 0 then least(100, 500 * chunks / reltuples) else 100 end into share
    from pg_class where oid = 'document_chunks'::regclass;
    for drawn in execute format(
        'select array(select word from regexp_split_to_table(terms, ''\s+'') word where word <> '''' group by word '
        '             order by length(word) desc, word limit 12) '
        'from document_chunks tablesample system (%s) where terms ~ ''\S'' order by random() limit %s', share, chunks)
    loop
        execute 'select bool_or(regexp_split_to_array(near.terms, ''\s+'') @> $1) from ('
            'select terms from document_chunks '
            'order by terms <@> to_bm25query(array_to_string($1, '' ''), ''document_chunks_bm25'') limit 10) near'
            into held using drawn;
        asked := asked + 1;
        met := met + coalesce(held, false)::int;
    end loop;
    return case when asked >= 5 then met / asked::real end;
end $$;

revoke all on function keyword_reach from public;
grant execute on function keyword_reach to aos_app;
