-- pg_textsearch before 1.2 writes the words that it holds in memory to its index as they came, and its search takes them
-- for sorted by where their rows lie. Of a row that came out of that order some words are passed over then, so that it is
-- found too far behind or not at all, and a question can go round in circles that nobody can cancel
-- (timescale/pg_textsearch, pull request 360, issues 365 and 384). What an index is made of is sorted. So what comes later
-- stays in memory (settings of the embedded server; `aos doctor` asks for them elsewhere), where it is found as it should
-- be, and before that is much the index is made anew beside the one that is asked, which then goes.
-- Held locks: document_chunks SHARE UPDATE EXCLUSIVE, moment; keyword_index_made ACCESS EXCLUSIVE, moment; index_faults ROW EXCLUSIVE, moment.
-- Old code: runs beside it.

-- Old code knows one name of the index, and ranks words by full text once it was made anew under another.

-- Whether the index has to be looked after: what it holds can be told to superusers alone.
create function keyword_index_needs_care() returns boolean
language sql stable set search_path = public, pg_temp as $$
    select coalesce((
        select string_to_array(substring(extversion from '^\d+\.\d+'), '.')::int[] < '{1,2}'
            and (select rolsuper from pg_roles where rolname = current_user)
        from pg_extension where extname = 'pg_textsearch'), false)
$$;

-- A vacuum that clears an index has it write what it holds in memory first. So it leaves the indexes of chunks alone where
-- that matters, and gives no place of a row back that they still name: who looks after the index does that himself.
create function settle_vacuum_of_chunks() returns boolean
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare
    care boolean := keyword_index_needs_care();
    settled boolean := exists (select from pg_class where oid = 'document_chunks'::regclass
                               and 'vacuum_index_cleanup=off' = any(reloptions));
begin
    if care and not settled then
        alter table document_chunks set (vacuum_index_cleanup = off);
    elsif settled and not care then
        alter table document_chunks reset (vacuum_index_cleanup);
    end if;
    return care;
end $$;
select settle_vacuum_of_chunks();
do $$ begin
    if current_setting('server_version_num')::int >= 170000 then
        execute 'grant maintain on document_chunks to aos_app';
    end if;
end $$;

alter table keyword_index_made
    add column name text not null default 'document_chunks_bm25',
    add column parts text, -- on disk, by level, when it was made: with others it has written what it held in memory
    add column spare_parts text, -- of the one beside it
    add column rests_until timestamptz, -- who writes chunks waits while an index is made
    add column cleared bigint not null default 0; -- rows that had gone from the table when their places were last given back
update keyword_index_made set parts = '';

-- The index for BM25 that can be believed, if there is one. Every search asks.
create function keyword_index() returns text language sql stable set search_path = public, pg_temp as $$
    select name from keyword_index_made
    where started = pg_postmaster_start_time() and to_regclass(name) is not null
      and not exists (select from index_faults f where f.name = 'document_chunks_bm25' and renewed is null)
$$;

-- Whether there should be one, and is none.
create or replace function keyword_index_worn() returns boolean language sql stable set search_path = public, pg_temp as $$
    select keyword_index() is null
        and exists (select from pg_extension where extname = 'pg_textsearch')
        and exists (select from pg_attribute where attrelid = 'document_chunks'::regclass and attname = 'terms')
$$;

-- How an index is made of all chunks. The planner tells indexes of one column apart by their conditions alone, and asks
-- none whose condition the question does not have: each of the three names has its own, and all are always true.
create function keyword_index_condition(name text) returns text language sql immutable as $$
    select case name when 'document_chunks_bm25' then 'true'
                     when 'document_chunks_bm25_a' then 'octet_length(id) > 0'
                     when 'document_chunks_bm25_b' then 'char_length(id) > 0' end
$$;
create function create_keyword_index(name text) returns text
language plpgsql set search_path = public, pg_temp set lock_timeout = '10s' set maintenance_work_mem = '512MB' as $$
begin
    execute format('create index %I on document_chunks using bm25 (terms) '
        'with (text_config = ''simple'', k1 = 0.9, b = 0.4)', name)
        || coalesce(' where ' || nullif(keyword_index_condition(name), 'true'), '');
    if not keyword_index_needs_care() then return null; end if;
    return keyword_index_parts(bm25_summarize_index(name));
end $$;

-- The levels of what is on disk, one for each part, as the summary of an index names them.
create function keyword_index_parts(summary text) returns text language sql immutable set search_path = public, pg_temp as $$
    select coalesce(string_agg(part[1], ' '), '') from regexp_matches(summary, '\m(L\d+) Segment \d+:', 'g') part
$$;

-- As before, whichever of them there is.
create or replace function drop_worn_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
begin
    if not pg_try_advisory_xact_lock(hashtext('aos.keyword_index')) then return false; end if;
    if not keyword_index_worn() then return false; end if;
    drop index if exists document_chunks_bm25, document_chunks_bm25_a, document_chunks_bm25_b;
    return true;
end $$;

create or replace function make_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare are text; gone bigint;
begin
    if not pg_try_advisory_xact_lock(hashtext('aos.keyword_index')) then return false; end if;
    if not keyword_index_worn()
       or coalesce(to_regclass('document_chunks_bm25'), to_regclass('document_chunks_bm25_a'),
                   to_regclass('document_chunks_bm25_b')) is not null then return false; end if;
    if exists (select from index_faults f where f.name = 'document_chunks_bm25' and renewed is null
                                            and made between now() - interval '1 hour' and now())
    then return false; end if;
    are := create_keyword_index('document_chunks_bm25');
    select max(cleared) into gone from keyword_index_made;
    delete from keyword_index_made;
    insert into keyword_index_made (started, parts, cleared) values (pg_postmaster_start_time(), are, coalesce(gone, 0));
    perform index_renewed('document_chunks_bm25');
    return true;
end $$;

-- Of the index that is asked: of how many chunks it knows, of how many of them in memory alone, whether it has written some
-- of those as they came, whether it may be made anew by now, how many rows have gone from the table without their places
-- being given back, and how many ever. Nothing where there is none, or where a vacuum has one write.
create function keyword_index_state(out chunks bigint, out waiting bigint, out written boolean, out rested boolean,
                                    out cluttering bigint, out gone bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
declare told text; made keyword_index_made;
begin
    if not pg_try_advisory_xact_lock_shared(hashtext('aos.vacuum.document_chunks')) then return; end if;
    select * into made from keyword_index_made m where m.name = keyword_index();
    if not found then return; end if;
    told := bm25_summarize_index(made.name);
    chunks := substring(told from 'total_docs: (\d+)');
    waiting := substring(told from '\mdocuments: (\d+)');
    written := keyword_index_parts(told) <> made.parts;
    rested := made.rests_until is null or made.rests_until < clock_timestamp();
    select n_tup_del + n_tup_upd into gone from pg_stat_user_tables where relid = 'document_chunks'::regclass;
    cluttering := gone - case when gone < made.cleared then 0 else made.cleared end; -- they are counted anew after a crash
end $$;

-- One that is there beside it: an index that is made in a run of the server is as good as the one that is asked in it.
create function spare_keyword_index() returns text language sql stable set search_path = public, pg_temp as $$
    select spare from (select keyword_index() as name offset 0) asked,
        unnest('{document_chunks_bm25,document_chunks_bm25_a,document_chunks_bm25_b}'::text[]) spare
    where to_regclass(spare) is not null and spare <> asked.name limit 1
$$;

-- Another index beside the one that is asked, which is asked meanwhile. Who writes chunks waits for it; it does not wait for
-- a vacuum, behind which they would wait, too.
create function make_spare_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare asked text; begun timestamptz := clock_timestamp(); are text;
begin
    if not pg_try_advisory_xact_lock(hashtext('aos.keyword_index'))
       or not pg_try_advisory_xact_lock_shared(hashtext('aos.vacuum.document_chunks')) then return false; end if;
    asked := keyword_index();
    if asked is null or spare_keyword_index() is not null then return false; end if;
    are := create_keyword_index(case asked when 'document_chunks_bm25_a' then 'document_chunks_bm25_b'
                                           else 'document_chunks_bm25_a' end);
    update keyword_index_made set spare_parts = are,
        rests_until = clock_timestamp() + 4 * (clock_timestamp() - begun);
    return true;
end $$;

-- From now on the spare one is asked, and the other goes; null where there is none. It waits for those who read or write
-- chunks as long as Postgres needs to call a vacuum of its own off, for others wait behind it: false if that is not enough.
create function take_spare_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '1500ms' as $$
declare asked text; spare text;
begin
    if not pg_try_advisory_xact_lock(hashtext('aos.keyword_index')) then return null; end if;
    asked := keyword_index();
    spare := spare_keyword_index();
    if asked is null or spare is null then return null; end if;
    begin
        execute format('drop index %I', asked);
    exception when lock_not_available then
        return false;
    end;
    update keyword_index_made set name = spare, parts = spare_parts, spare_parts = null;
    return true;
end $$;

-- So many rows had gone when their places were given back.
create function keyword_places_given_back(gone bigint) returns void
language sql security definer set search_path = public, pg_temp as $$
    update keyword_index_made set cleared = greatest(gone, 0)
$$;

create or replace function distrust_index(index_name text, why text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into index_faults (name, what) select index_name, left(why, 500)
    where index_name = 'document_chunks_bm25' and keyword_index() is not null
       or index_name ~ '^(document_chunks_bm25|embeddings_[0-9]+_hnsw)$' and to_regclass(index_name) is not null
    on conflict (name) do update
        set what = excluded.what, noticed = now(), renewed = null, times = index_faults.times + 1
        where index_faults.renewed is not null
$$;

create or replace function keyword_reach(chunks int) returns real
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off set enable_sort = off as $$
declare share real; drawn text[]; held boolean; asked int := 0; met int := 0; index_name text := keyword_index();
begin
    if index_name is null then return null; end if;
    -- Whole pages are drawn, which hold a few rows each: more than are wanted. Of a table that nobody counted, all are.
    select case when reltuples > 0 then least(100, 500 * chunks / reltuples) else 100 end into share
    from pg_class where oid = 'document_chunks'::regclass;
    for drawn in execute format(
        'select array(select word from regexp_split_to_table(terms, ''\s+'') word where word <> '''' group by word '
        '             order by length(word) desc, word limit 12) '
        'from document_chunks tablesample system (%s) where terms ~ ''\S'' order by random() limit %s', share, chunks)
    loop
        execute format('select bool_or(regexp_split_to_array(near.terms, ''\s+'') @> $1) from ('
            'select terms from document_chunks where %s '
            'order by terms <@> to_bm25query(array_to_string($1, '' ''), %L) limit 10) near',
            keyword_index_condition(index_name), index_name)
            into held using drawn;
        asked := asked + 1;
        met := met + coalesce(held, false)::int;
    end loop;
    return case when asked >= 5 then met / asked::real end;
end $$;

revoke all on function settle_vacuum_of_chunks, create_keyword_index, keyword_index_state, make_spare_keyword_index,
    take_spare_keyword_index, keyword_places_given_back from public;
grant execute on function settle_vacuum_of_chunks, keyword_index_state, make_spare_keyword_index,
    take_spare_keyword_index, keyword_places_given_back to aos_app;
