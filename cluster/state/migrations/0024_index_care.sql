-- Indexes that have lost or damaged what they had: they are not asked, and a worker makes them anew.

-- pg_textsearch before 1.2 keeps what an index learns after it was made in memory alone: once Postgres has been started
-- again, cleanly or after a crash, the index finds nothing of that, or nothing at all, and does not say so
-- (timescale/pg_textsearch, issues 333 and 350). So it is noted which run of the server made the index, and in no other
-- is it believed. The note is not logged: a run that recovers from a crash does not find it.
create unlogged table keyword_index_made (started timestamptz primary key);
-- What older releases have left is not known; in an empty index nothing can be missing.
insert into keyword_index_made select pg_postmaster_start_time() where not exists (select from document_chunks);
grant select on keyword_index_made to aos_app;

-- Indexes that failed, or that a probe found to miss too much (pgvector before 0.8.4 can damage a graph when it is
-- vacuumed under writes: pgvector/pgvector, pull request 988 and issue 993), and when they were made anew.
create table index_faults (
    name text primary key,
    what text not null,
    noticed timestamptz not null default now(),
    renewed timestamptz
);
revoke insert, update, delete on index_faults from aos_app;
grant select on index_faults to aos_app;

-- From now on an index is not asked. Where it was made anew within a day it is not at fault again: whoever asks something
-- odd must not have it made again and again, nor vectors that no graph can reach.
create function distrust_index(index_name text, why text) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into index_faults (name, what) select index_name, left(why, 500)
    where index_name ~ '^(document_chunks_bm25|embeddings_[0-9]+_hnsw)$' and to_regclass(index_name) is not null
    on conflict (name) do update set what = excluded.what, noticed = now(), renewed = null
    where index_faults.renewed < now() - interval '1 day'
$$;

create function index_renewed(index_name text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update index_faults set renewed = now() where name = index_name
$$;

-- Whether a generation has a graph that can be believed.
create function graph_sound(g_id int) returns boolean language sql stable set search_path = public, pg_temp as $$
    select to_regclass('embeddings_' || g_id || '_hnsw') is not null
        and not exists (select from index_faults where name = 'embeddings_' || g_id || '_hnsw' and renewed is null)
$$;

-- Whether there is or should be an index for BM25 that cannot be believed. Every search asks: what makes a sound index
-- sound is looked at first, and the catalogs only where that is missing.
create function keyword_index_worn() returns boolean language sql stable set search_path = public, pg_temp as $$
    select (to_regclass('document_chunks_bm25') is null
            or not exists (select from keyword_index_made where started = pg_postmaster_start_time())
            or exists (select from index_faults where name = 'document_chunks_bm25' and renewed is null))
        and exists (select from pg_extension where extname = 'pg_textsearch')
        and exists (select from pg_attribute where attrelid = 'document_chunks'::regclass and attname = 'terms')
$$;

-- A worn index goes, so that nobody's words are added to it. It hardly waits for the table, as all who read or write
-- chunks would wait behind it.
create function drop_worn_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
begin
    if not pg_try_advisory_xact_lock(hashtext('aos.keyword_index')) then return false; end if;
    if not keyword_index_worn() then return false; end if;
    drop index if exists document_chunks_bm25;
    return true;
end $$;

-- The index anew, where it is gone. Who writes chunks waits for it, who reads does not.
create function make_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp
set lock_timeout = '10s' set maintenance_work_mem = '512MB' as $$
begin
    if not pg_try_advisory_xact_lock(hashtext('aos.keyword_index')) then return false; end if;
    if not keyword_index_worn() or to_regclass('document_chunks_bm25') is not null then return false; end if;
    execute 'create index document_chunks_bm25 on document_chunks using bm25 (terms) '
        'with (text_config = ''simple'', k1 = 0.9, b = 0.4)';
    delete from keyword_index_made;
    insert into keyword_index_made values (pg_postmaster_start_time());
    perform index_renewed('document_chunks_bm25');
    return true;
end $$;

-- Of how many of some vectors, taken at random, the graph finds one as near as they are to themselves; null where it has
-- none, or where none were drawn.
create function graph_reach(g_id int, vectors int) returns real
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off set enable_sort = off as $$
declare dims int; share real; found real;
begin
    select dimension into dims from generations where id = g_id;
    if dims is null or to_regclass(format('embeddings_%s_hnsw', g_id)) is null then return null; end if;
    -- Whole pages are drawn, which hold a few rows each: more than are wanted. Of a table that nobody counted, all are.
    select case when reltuples > 0 then least(100, 500 * vectors / reltuples) else 100 end into share
    from pg_class where oid = format('embeddings_%s', g_id)::regclass;
    perform set_config('hnsw.ef_search', '100', true), set_config('hnsw.iterative_scan', 'relaxed_order', true);
    execute format(
        'select avg((near.distance < 0.001)::int) from ('
        '    select embedding::halfvec(%1$s) as v from embeddings_%2$s tablesample system (%3$s)'
        '    where vector_norm(embedding) > 0 order by random() limit %4$s) drawn,'
        ' lateral (select embedding::halfvec(%1$s) <=> drawn.v as distance from embeddings_%2$s'
        '          order by embedding::halfvec(%1$s) <=> drawn.v limit 1) near', dims, g_id, share, vectors) into found;
    return found;
end $$;

revoke all on function distrust_index, index_renewed, drop_worn_keyword_index, make_keyword_index, graph_reach from public;
grant execute on function distrust_index, drop_worn_keyword_index, make_keyword_index, graph_reach to aos_app;
