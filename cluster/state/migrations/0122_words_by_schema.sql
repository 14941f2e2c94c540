-- The functions behind columns that are worked out name others with their schema: pg_restore and pg_upgrade make such a
-- table while no schema is searched, and failed at it. What they say of a text is what they said, and they are inlined as
-- before, which a `set search_path` would have ended.
-- Held locks: none.
-- Old code: runs beside it.

create or replace function words_of(language text, content text) returns tsvector
language sql immutable parallel safe as $$
    select to_tsvector(('pg_catalog.' || language)::regconfig,
        case when public.is_unspaced(content) then public.unjoined(public.untypeset(content), true)
             else public.untypeset(content) end)
$$;

create or replace function terms_of(language text, content text) returns text
language sql immutable parallel safe as $$ select public.as_terms(public.words_of(language, content)) $$;

create or replace function atoms_of(workspace uuid, content text) returns text[]
language sql immutable parallel safe as $$
    select coalesce(array_agg(distinct left(workspace::text, 8) || ':' || left(part, 64)), '{}')
    from regexp_matches(lower(public.untypeset(content)),
        '[a-z0-9]+(?:[-_./:#][a-z0-9]+)+|[a-z]+[0-9][a-z0-9]*|[0-9]+[a-z][a-z0-9]*|[0-9]{5,}', 'g') token,
        regexp_split_to_table(token[1], '[-_./:#]') part
$$;
