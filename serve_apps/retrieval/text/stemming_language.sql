-- known: The languages that Postgres can cut endings in; `simple` cuts none.
select cfgname::text as name from pg_ts_config where cfgnamespace = 'pg_catalog'::regnamespace order by cfgname;

-- current: The language of a workspace, and those of its chunks.
select language, stemmers from workspaces where id = %(workspace)s and tenant_id = %(tenant)s;

-- change: Cut the words of all its chunks anew, but for `auto`, which needs their languages.
select set_language(%(language)s) as chunks;

-- chunk_texts: The next chunks, as far as a language is told by, but those that are known.
select c.id, c.document_id, left(c.text, 2000) as text
from document_chunks c
where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and c.id > %(after)s
  and c.id <> all(%(known)s::text[])
order by c.id limit %(chunks)s;

-- document_heads: The beginnings of documents, as far as a language is told by: 20,000 characters and their blanks are in
-- no more than 10,000 chunks.
select d.id, head.text from unnest(%(documents)s::text[]) d(id), lateral (
    select left(string_agg(first.text, ' ' order by first.chunk_index, first.id), 20000) as text from (
        select left(c.text, 2000) as text, c.chunk_index, c.id
        from document_chunks c
        where c.document_id = d.id and c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s
        order by c.chunk_index, c.id limit 10000) first) head;

-- put_languages: Cut the words of given chunks by the language that each is in.
select set_chunk_languages(%(ids)s::text[], %(languages)s::text[]) as chunks;

-- note_present: In which languages the words of the workspace's chunks are cut, the commonest first.
update workspaces w set corpus_version = corpus_version + 1, stemmers = array(
    select c.language from document_chunks c where c.workspace_id = w.id and c.tenant_id = w.tenant_id
    group by c.language order by count(*) desc, c.language)
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;
