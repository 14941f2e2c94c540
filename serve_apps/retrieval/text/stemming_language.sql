-- known: The languages that Postgres can cut endings in; `simple` cuts none.
select cfgname::text as name from pg_ts_config where cfgnamespace = 'pg_catalog'::regnamespace order by cfgname;

-- current: The language of a workspace, and those of its chunks.
select language, stemmers from workspaces where id = %(workspace)s and tenant_id = %(tenant)s;

-- change: Cut the words of all its chunks anew, but for `auto`, which needs their languages.
select set_language(%(language)s) as chunks;

-- chunk_texts: The chunks of the next documents, as far as a language is told by, document by document.
select c.document_id, array_agg(c.id order by c.chunk_index) as ids,
       array_agg(left(c.text, 2000) order by c.chunk_index) as texts
from document_chunks c
where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and c.document_id in (
    select distinct d.document_id from document_chunks d
    where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.document_id > %(after)s
    order by d.document_id limit %(documents)s)
group by c.document_id order by c.document_id;

-- put_languages: Cut the words of given chunks by the language that each is in.
select set_chunk_languages(%(ids)s::text[], %(languages)s::text[]) as chunks;

-- note_present: In which languages the words of the workspace's chunks are cut, the commonest first.
update workspaces w set corpus_version = corpus_version + 1, stemmers = array(
    select c.language from document_chunks c where c.workspace_id = w.id and c.tenant_id = w.tenant_id
    group by c.language order by count(*) desc, c.language)
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;
