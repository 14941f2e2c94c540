-- BM25 inside Postgres where pg_textsearch is there; elsewhere the keyword leg ranks with Postgres' own full text,
-- and every result says which of the two it was.
do $$ begin
    if exists (select 1 from pg_available_extensions where name = 'pg_textsearch')
       and current_setting('shared_preload_libraries') like '%pg_textsearch%' then
        create extension if not exists pg_textsearch;
        execute 'create index document_chunks_bm25 on document_chunks using bm25 (search_text) '
            'with (text_config = ''english'', k1 = 0.9, b = 0.4)';
    end if;
end $$;
