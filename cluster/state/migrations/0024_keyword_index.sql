-- pg_textsearch before 1.2 keeps what an index learns after it was made in memory alone: once Postgres has been started
-- again, cleanly or after a crash, the index finds nothing of that, or nothing at all, and does not say so
-- (timescale/pg_textsearch, issues 333 and 350). So it is noted which run of the server made the index, and in no other
-- is it believed. The note is not logged: a run that recovers from a crash does not find it.
create unlogged table keyword_index_made (started timestamptz primary key);
-- What older releases have left is not known; in an empty index nothing can be missing.
insert into keyword_index_made select pg_postmaster_start_time() where not exists (select from document_chunks);
grant select on keyword_index_made to aos_app;

-- Whether there is or should be an index for BM25 that cannot be believed.
create function keyword_index_worn() returns boolean language sql stable set search_path = public, pg_temp as $$
    select exists (select from pg_extension where extname = 'pg_textsearch' and extversion ~ '^(0|1\.[01])\M')
        and exists (select from pg_attribute where attrelid = 'document_chunks'::regclass and attname = 'terms')
        and (to_regclass('document_chunks_bm25') is null
             or not exists (select from keyword_index_made where started = pg_postmaster_start_time()))
$$;

-- A worn index goes, so that nobody's words are added to it. It does not wait long for the table, as all who read or
-- write chunks would wait behind it.
create function drop_worn_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '2s' as $$
begin
    if not keyword_index_worn() or not pg_try_advisory_xact_lock(hashtext('aos.keyword_index')) then return false; end if;
    drop index if exists document_chunks_bm25;
    return true;
end $$;

-- The index anew, where it is gone. Who writes chunks waits for it, who reads does not.
create function make_keyword_index() returns boolean
language plpgsql security definer set search_path = public, pg_temp
set lock_timeout = '30s' set maintenance_work_mem = '512MB' as $$
begin
    if not keyword_index_worn() or to_regclass('document_chunks_bm25') is not null
       or not pg_try_advisory_xact_lock(hashtext('aos.keyword_index')) then return false; end if;
    execute 'create index document_chunks_bm25 on document_chunks using bm25 (terms) '
        'with (text_config = ''simple'', k1 = 0.9, b = 0.4)';
    delete from keyword_index_made;
    insert into keyword_index_made values (pg_postmaster_start_time());
    return true;
end $$;

revoke all on function drop_worn_keyword_index, make_keyword_index from public;
grant execute on function drop_worn_keyword_index, make_keyword_index to aos_app;
