-- tables: The tables of documents that readers see, in the order in which these are named; without content of one whose
-- tables nobody looked for yet, or that has more rows than are looked at. Boxes of cells are left out: no answer needs them.
select d.id as document_id, d.filename, v.id as version_id, v.tables_of_reads = v.reads as is_known,
       t.content - 'boxes' as content,
       coalesce((select sum(a.row_count) from page_tables a where a.version_id = v.id), 0) > %(most)s as is_too_large
from unnest(%(documents)s::text[]) with ordinality as wanted(id, place)
join documents d on d.id = wanted.id and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
join document_versions v on v.id = d.current_version and v.workspace_id = %(workspace)s
left join page_tables t on t.version_id = v.id and t.workspace_id = %(workspace)s and v.tables_of_reads = v.reads
     and (select sum(a.row_count) from page_tables a where a.version_id = v.id) <= %(most)s
order by wanted.place, t.ordinal;

-- pages: The pages of versions whose tables are to be looked for.
select p.version_id, p.number, p.text, p.words, p.engine, p.confidence
from pages p where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s
  and p.version_id = any(%(versions)s::text[])
order by p.version_id, p.number limit %(most)s;

-- row_places: The pages of places and the chunks that these stand in, in the order in which they are named.
select p.version_id, p.number, wanted.start, p.text, p.words, p.engine, p.confidence, k.id as chunk_id,
       caveats_of(p.version_id, array[p.number]) as caveats
from unnest(%(versions)s::text[], %(numbers)s::int[], %(starts)s::int[])
    with ordinality as wanted(version_id, number, start, place)
join pages p on p.version_id = wanted.version_id and p.number = wanted.number and p.workspace_id = %(workspace)s
     and p.tenant_id = %(tenant)s
left join lateral (
    select c.id from document_chunks c, jsonb_array_elements(c.spans) s
    where c.version_id = p.version_id and c.workspace_id = %(workspace)s and wanted.number between c.page_start and c.page_end
      and (s->>0)::int = wanted.number and wanted.start >= (s->>1)::int and wanted.start < (s->>2)::int
    order by c.chunk_index limit 1) k on true
order by wanted.place;

-- like: Documents that have a table with all of these headings, the latest first, and how many rows of tables each has.
select d.id, (select sum(a.row_count) from page_tables a
              where a.version_id = d.current_version and a.workspace_id = %(workspace)s) as rows from documents d
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.id <> all(%(known)s::text[])
  and exists (select 1 from page_tables t where t.version_id = d.current_version and t.workspace_id = %(workspace)s
              and t.headings @> %(headings)s::text[])
  and (%(agent)s::uuid is null or exists (
        select 1 from document_agent_links l where l.document_id = d.id and l.agent_id = %(agent)s::uuid))
order by d.upload_date desc, d.id limit %(most)s;

-- row_count: How many rows the tables of some documents have together.
select coalesce(sum(t.row_count), 0) as rows from documents d
join page_tables t on t.version_id = d.current_version and t.workspace_id = %(workspace)s
where d.id = any(%(documents)s::text[]) and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s;

-- unseen: How many other documents were indexed before tables were kept.
select count(*) as documents from documents d
join document_versions v on v.id = d.current_version and v.workspace_id = %(workspace)s
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.id <> all(%(known)s::text[])
  and v.tables_of_reads is distinct from v.reads
  and (%(agent)s::uuid is null or exists (
        select 1 from document_agent_links l where l.document_id = d.id and l.agent_id = %(agent)s::uuid));

-- cut_tables: The tables of documents with no more than some rows each, in the order in which they were found.
select d.id as document_id, d.filename, v.id as version_id, true as is_known, t.row_count,
       jsonb_set(t.content - 'boxes', '{rows}', jsonb_path_query_array(t.content, '$.rows[0 to $last]',
                 jsonb_build_object('last', %(most)s::int - 1))) as content
from unnest(%(documents)s::text[]) with ordinality as wanted(id, place)
join documents d on d.id = wanted.id and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
join document_versions v on v.id = d.current_version and v.workspace_id = %(workspace)s
join page_tables t on t.version_id = v.id and t.workspace_id = %(workspace)s and v.tables_of_reads = v.reads
order by wanted.place, t.ordinal;

-- listed: A page of the documents that have tables, the latest first, and how many there are in all; with words those
-- alone whose filename and headings hold all of them.
with fitting as (
    select d.id, d.upload_date from documents d
    join document_versions v on v.id = d.current_version and v.workspace_id = %(workspace)s
    where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and v.tables_of_reads = v.reads
      and exists (select 1 from page_tables t where t.version_id = v.id and t.workspace_id = %(workspace)s)
      and (%(agent)s::uuid is null or exists (
            select 1 from document_agent_links l where l.document_id = d.id and l.agent_id = %(agent)s::uuid))
      and not exists (
            select 1 from unnest(%(words)s::text[]) as w(word)
            where d.filename not ilike w.word and not exists (
                select 1 from page_tables t, unnest(t.headings) as h(heading)
                where t.version_id = v.id and t.workspace_id = %(workspace)s and h.heading like w.word)))
select (select count(*) from fitting) as total,
       array(select f.id from fitting f order by f.upload_date desc, f.id limit %(limit)s offset %(skip)s) as documents;

-- named: Documents whose ids begin so.
select d.id from unnest(%(beginnings)s::text[]) as wanted(beginning)
join documents d on d.id >= wanted.beginning and d.id < wanted.beginning || 'g'
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
  and (%(agent)s::uuid is null or exists (
        select 1 from document_agent_links l where l.document_id = d.id and l.agent_id = %(agent)s::uuid))
order by d.id limit %(most)s;

-- linked: Those of some documents that are linked to an agent.
select d.id from unnest(%(documents)s::text[]) with ordinality as wanted(id, place)
join documents d on d.id = wanted.id and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
where %(agent)s::uuid is null or exists (
    select 1 from document_agent_links l where l.document_id = d.id and l.agent_id = %(agent)s::uuid)
order by wanted.place;
