-- workspace: The workspace, and the index that its readers use.
select w.id::text as id, w.name, t.name as tenant, w.language, w.ocr_languages, w.chunk_strategy, w.generation_id,
       g.embedder, g.embedder_fingerprint, g.dimension, g.chunker
from workspaces w join tenants t on t.id = w.tenant_id left join generations g on g.id = w.generation_id
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- next_part: The last of the documents that come next: so many, or so many pages; at least one. Those of which nothing was
-- read yet stay out.
select max(p.id) as until from (
    select d.id, row_number() over (order by d.id) as nth, sum(v.page_count) over (order by d.id) as pages
    from documents d join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
    where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.id > %(after)s
    order by d.id limit %(documents)s) p
where p.nth = 1 or p.pages <= %(pages)s;

-- unread: Documents that stay out, and some of their names.
select count(*) as total, (array_agg(d.filename order by d.upload_date, d.id))[1:50] as names from documents d
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.current_version is null;

-- size: What a part may come to.
select count(*) as documents, coalesce(sum(v.page_count), 0) as pages, coalesce(sum(v.file_size), 0) as bytes
from documents d join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s;

-- digest: A number that changes with any row of the documents of a part, as each version of a row has an xmin of its own,
-- and with the addresses of people, which stand in for their ids.
with mine as (
    select d.id, d.xmin::text as at from documents d
    where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.id > %(after)s and d.id <= %(until)s
      and d.current_version is not null
), row_versions as (
    select 'd' || id || at as one from mine
    union all
    select 'v' || v.id || v.xmin::text from document_versions v join mine on mine.id = v.document_id
    where v.workspace_id = %(workspace)s
    union all
    select 'p' || p.id || p.xmin::text from pages p join mine on mine.id = p.document_id
    where p.workspace_id = %(workspace)s
    union all
    select 't' || t.version_id || t.ordinal || '.' || t.xmin::text from page_tables t join mine on mine.id = t.document_id
    where t.workspace_id = %(workspace)s
    union all
    select 'r' || r.id || r.xmin::text from page_corrections r join mine on mine.id = r.document_id
    where r.workspace_id = %(workspace)s
    union all
    select 'c' || c.id || c.xmin::text from document_chunks c join mine on mine.id = c.document_id
    where c.workspace_id = %(workspace)s and c.chunker = %(chunker)s
    union all
    select 'e' || e.chunk_id || e.xmin::text from embeddings e join mine on mine.id = e.document_id
    where e.workspace_id = %(workspace)s and e.generation_id = %(generation)s
    union all
    select 'i' || i.version_id || i.xmin::text from indexed_versions i join mine on mine.id = i.document_id
    where i.workspace_id = %(workspace)s and i.generation_id = %(generation)s
    union all
    select 'm' || m.entity_id || m.version_id || m.page || '.' || m.xmin::text
    from entity_mentions m join mine on mine.id = m.document_id where m.workspace_id = %(workspace)s
    union all
    select 'x' || x.relation_id || x.version_id || x.page || '.' || x.start_at || '.' || x.xmin::text
    from relation_evidence x join mine on mine.id = x.document_id where x.workspace_id = %(workspace)s
    union all
    select 'g' || g.version_id || g.xmin::text from graph_versions g join mine on mine.id = g.document_id
    where g.workspace_id = %(workspace)s
    union all
    select 'l' || l.agent_id || l.document_id || l.xmin::text
    from document_agent_links l join mine on mine.id = l.document_id where l.workspace_id = %(workspace)s
)
select count(*) || ':' || coalesce(sum(hashtextextended(one, 0)::numeric), 0)
       || ':' || coalesce(%(generation)s::text, '')
       || ':' || (select coalesce(sum(hashtextextended(u.id::text || u.email, 0)::numeric), 0) from users u
                  where u.tenant_id = %(tenant)s) as digest
from row_versions;

-- documents: Documents of a part. One that is being read again stands as what of it can be searched.
select d.id as document_id, d.origin, d.filename, d.file_type, d.source_type,
       case when d.status not in ('pending', 'processing') then d.status
            when d.caveats @? '$[*] ? (@.weight == "unread")' then 'partial'
            when d.caveats @? '$[*] ? (@.weight == "unsure")' or d.chunk_count = 0 then 'degraded'
            when d.has_embeddings then 'completed' else 'embedding_pending' end as status,
       d.failure::text as failure, d.readers, d.own_readers, d.tags, d.description,
       (d.metadata - 'uploads' - 'imported_from')::text as metadata, u.email as created_by,
       d.current_version as version_id, d.chunk_count, d.has_embeddings, d.upload_date, d.processed_date,
       d.caveats::text as caveats, d.chunk_strategy, d.parent_id, d.classification,
       d.classification_rank::int as classification_rank, d.classified_by
from documents d left join users u on u.id = d.created_by and u.tenant_id = d.tenant_id
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.id > %(after)s and d.id <= %(until)s
  and d.current_version is not null
order by d.id;

-- versions: Their versions, and where the bytes are.
select v.document_id, v.id as version_id, v.file_hash, v.file_size, v.kind, v.page_count, v.reads, v.tables_of_reads,
       v.created_at, v.location, d.filename
from document_versions v join documents d on d.id = v.document_id and d.current_version is not null
where v.workspace_id = %(workspace)s and v.tenant_id = %(tenant)s and v.document_id > %(after)s
  and v.document_id <= %(until)s
order by v.document_id, v.id;

-- pages: Their pages, with words.
select p.document_id, p.version_id, p.number as page, p.text, p.words, p.engine, p.confidence, p.attempts::text as attempts,
       p.ms, p.fingerprint, p.failure::text as failure, p.read_at, p.caveats::text as caveats, p.reading::text as reading,
       p.revision, p.reviewed_at, u.email as reviewed_by, p.personal_data::text as personal_data
from pages p join documents d on d.id = p.document_id and d.current_version is not null
left join users u on u.id = p.reviewed_by and u.tenant_id = p.tenant_id
where p.workspace_id = %(workspace)s and p.tenant_id = %(tenant)s and p.document_id > %(after)s
  and p.document_id <= %(until)s
order by p.document_id, p.version_id, p.number;

-- tables: Their tables.
select t.document_id, t.version_id, t.ordinal, t.page, t.headings, t.row_count, t.content::text as content
from page_tables t join documents d on d.id = t.document_id and d.current_version is not null
where t.workspace_id = %(workspace)s and t.tenant_id = %(tenant)s and t.document_id > %(after)s
  and t.document_id <= %(until)s
order by t.document_id, t.version_id, t.ordinal;

-- corrections: What people corrected in them.
select c.document_id, c.version_id, c.id::text as correction_id, c.file_hash, c.page, c.revision, u.email as made_by, c.at,
       c.line, c.start_at, c.text_before, c.text_after, c.whole, c.box::text as box, c.reembedded, c.searchable,
       c.unplaced_in
from page_corrections c join documents d on d.id = c.document_id and d.current_version is not null
left join users u on u.id = c.user_id and u.tenant_id = c.tenant_id
where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and c.document_id > %(after)s
  and c.document_id <= %(until)s
order by c.document_id, c.version_id, c.page, c.revision;

-- chunks: Their chunks, as the index has them that is searched.
select c.document_id, c.version_id, c.id as chunk_id, c.chunk_index as ordinal, c.chunker, c.text, c.search_text,
       c.page_start, c.page_end, c.spans::text as spans, c.boxes::text as boxes, c.headings, c.metadata::text as metadata,
       c.language, c.engine, c.confidence, c.caveats::text as caveats
from document_chunks c join documents d on d.id = c.document_id and d.current_version = c.version_id
where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and c.document_id > %(after)s
  and c.document_id <= %(until)s and c.chunker = %(chunker)s
order by c.document_id, c.version_id, c.chunk_index;

-- vectors: The vectors of those.
select e.document_id, e.chunk_id, e.embedding::text as embedding
from embeddings e join document_chunks c on c.id = e.chunk_id and c.workspace_id = e.workspace_id
join documents d on d.id = e.document_id and d.current_version = c.version_id
where e.workspace_id = %(workspace)s and e.tenant_id = %(tenant)s and e.document_id > %(after)s
  and e.document_id <= %(until)s and e.generation_id = %(generation)s
order by e.document_id, c.version_id, c.chunk_index;

-- indexed: What the index says that it holds of them.
select i.document_id, i.version_id, i.reads, i.chunks, i.embedded
from indexed_versions i join documents d on d.id = i.document_id and d.current_version = i.version_id
where i.workspace_id = %(workspace)s and i.tenant_id = %(tenant)s and i.document_id > %(after)s
  and i.document_id <= %(until)s and i.generation_id = %(generation)s
order by i.document_id, i.version_id;

-- mentions: Names in their texts.
select m.document_id, m.version_id, m.page, e.type as entity_type, e.canonical_name as entity_name, m.type, m.name, m.alias,
       m.start_at, m.end_at, m.quote_start, m.quote_end, m.occurrences, m.confidence, m.found_by
from entity_mentions m join entities e on e.id = m.entity_id and e.workspace_id = m.workspace_id
join documents d on d.id = m.document_id and d.current_version is not null
where m.workspace_id = %(workspace)s and m.tenant_id = %(tenant)s and m.document_id > %(after)s
  and m.document_id <= %(until)s
order by m.document_id, m.version_id, m.page, m.start_at, m.entity_id;

-- relations: What their texts say of those.
select x.document_id, x.version_id, x.page, x.start_at, x.end_at, x.evidence, x.strength, x.found_by, r.type,
       s.type as source_type, s.canonical_name as source_name, o.type as target_type, o.canonical_name as target_name
from relation_evidence x join relations r on r.id = x.relation_id and r.workspace_id = x.workspace_id
join entities s on s.id = r.source_id join entities o on o.id = r.target_id
join documents d on d.id = x.document_id and d.current_version is not null
where x.workspace_id = %(workspace)s and x.tenant_id = %(tenant)s and x.document_id > %(after)s
  and x.document_id <= %(until)s
order by x.document_id, x.version_id, x.page, x.start_at, x.relation_id;

-- graphs: What was looked for.
select g.document_id, g.version_id, g.reads, g.fingerprint, g.entities, g.relations, g.note
from graph_versions g join documents d on d.id = g.document_id and d.current_version is not null
where g.workspace_id = %(workspace)s and g.tenant_id = %(tenant)s and g.document_id > %(after)s
  and g.document_id <= %(until)s
order by g.document_id, g.version_id;

-- links: The agents that search them.
select l.document_id, l.agent_id::text as agent_id
from document_agent_links l join documents d on d.id = l.document_id and d.current_version is not null
where l.workspace_id = %(workspace)s and l.tenant_id = %(tenant)s and l.document_id > %(after)s
  and l.document_id <= %(until)s
order by l.document_id, l.agent_id;

-- agents: Agents; which credentials they may use is not told.
select a.id::text as agent_id, a.name, a.description, a.system_prompt, a.auto_link_uploads, (a.config - 'credentials')::text as config,
       a.metadata::text as metadata, a.whole_workspace
from agents a where a.workspace_id = %(workspace)s and a.tenant_id = %(tenant)s order by a.name;

-- agent_skills: The names of skills that they have.
select a.name as agent, s.skill, s.version from agent_skills s join agents a on a.id = s.agent_id
where s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s order by a.name, s.skill;

-- golden_sets: Sets of questions with known answers.
select g.id::text as set_id, g.name, g.description, g.gate, g.least_recall from golden_sets g
where g.workspace_id = %(workspace)s and g.tenant_id = %(tenant)s order by g.name;

-- golden_questions: Their questions.
select q.set_id::text as set_id, q.key, q.question, q.documents, q.passages, q.answers, q.answerable from golden_questions q
where q.workspace_id = %(workspace)s and q.tenant_id = %(tenant)s order by q.set_id, q.position;

-- folder_readers: Who may see what comes from a folder.
select f.folder, f.prefixes, f.readers from folder_readers f
where f.workspace_id = %(workspace)s and f.tenant_id = %(tenant)s order by f.folder;
