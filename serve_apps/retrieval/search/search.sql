-- resolve: The live generation, what its legs can use, whether the agent (or who asks without one) may search the whole
-- workspace, whether what may be searched fits an exact scan of words (`small`) and of vectors (`narrow`), and whether it
-- is so `few` documents that they are listed; all three are null where the corpus is still the `known` one, of which the
-- caller knows.
-- A walk of the graph under a filter is the longer the less the filter leaves of it, and an exact scan the shorter: both
-- take the same time at the root of `walk` times all vectors; words are scanned up to `words` at most. What a list, an
-- agent's links or a reader's few documents name is counted by that, and else the workspace's documents from the newest
-- on, once, and until there are too many for either. An agent's links are listed as long as they could be narrow, with
-- a chunk each.
select g.id, g.embedder, g.embedder_fingerprint, g.dimension, g.chunker, w.language, w.stemmers, w.revision as corpus,
       graph_sound(g.id) as graph,
       words.keyword_index, words.keyword_index is null and keyword_index_worn() as worn,
       asked.whole, counted.small, counted.narrow, counted.few
from workspaces w join generations g on g.id = coalesce(%(generation)s::int, w.generation_id)
cross join (select keyword_index() offset 0) words
cross join lateral (
    select %(agent)s::uuid is null
           or exists (select from agents a
                      where a.id = %(agent)s and a.workspace_id = %(workspace)s and a.whole_workspace) as whole
    offset 0
) asked
left join lateral (
    with limits as materialized (
        select least(greatest(%(exact_scope)s, sqrt(%(walk)s * greatest(c.reltuples, 0)::float8)), 1e9)::int as chunks
        from pg_class c where c.oid = to_regclass('embeddings_' || g.id)
    ), listed as materialized (
        select case
            when %(documents)s::text[] is not null then null
            when not asked.whole
                then listed_documents(%(agent)s, greatest(%(most)s::int, (select chunks from limits)))
            when (select reltuples from pg_class where oid = 'documents'::regclass) >= %(many)s
                then listed_documents(null, %(most)s)
            end as ids
    ), named as materialized (
        select unnest(%(documents)s::text[]) as id
        union all
        select unnest(ids) from listed
    ), running as materialized (
        select sum((select d.chunk_count
                    from searchable_documents(%(tenant)s, %(workspace)s, %(type)s, %(file)s, %(from)s, %(to)s, null,
                                              case when %(documents)s::text[] is not null then %(agent)s::uuid end) d
                    where d.id = named.id)) over (rows unbounded preceding) as seen
        from named
        union all
        select newest.seen
        from (select sum(d.chunk_count) over (order by d.upload_date desc, d.id rows unbounded preceding) as seen
              from documents d
              where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
                and d.current_version is not null
                and (%(type)s::text is null or d.file_type = %(type)s)
                and (%(file)s::text is null or position(lower(%(file)s) in lower(d.filename)) > 0)
                and (%(from)s::timestamptz is null or d.upload_date >= %(from)s)
                and (%(to)s::timestamptz is null or d.upload_date <= %(to)s)) newest
        where asked.whole and %(documents)s::text[] is null and (select ids from listed) is null
    )
    select (select ids from listed) is not null as few,
           known.all_of_it and not exists (
               select from running
               where seen > (select greatest(%(exact_scope)s, least(chunks, %(words)s)) from limits)) as small,
           known.all_of_it and not exists (select from running where seen > (select chunks from limits)) as narrow
    from (select asked.whole or %(documents)s::text[] is not null or (select ids from listed) is not null as all_of_it
          offset 0) known
    where w.revision is distinct from %(known)s::bigint
) counted on true
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- keyword_indexed: BM25 by the index, best first. The document is asked for chunk by chunk, in the index's order, and
-- the scan ends with the limit. The score is the one the index scan has just computed (negative, as it sorts). The
-- conditions are those of searchable_documents, written out: around a function in the query, pg_textsearch computes
-- every score a second time, at five times the cost. It scores as many rows as the inner limit says, and all again, for
-- twice as many, once a row too many was hidden: there is room for some. {condition} is always true, and by it the
-- planner knows {index} from one that is being made.
select id, document_id, score * language_weight(language, %(own)s) as score from (
    select c.id, c.document_id, c.language, -bm25_get_current_score() as score
    from document_chunks c
    where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.chunker = %(chunker)s and {condition}
      and c.version_id = (
          select d.current_version
          from documents d
          where d.id = c.document_id and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
            and (%(type)s::text is null or d.file_type = %(type)s)
            and (%(file)s::text is null or position(lower(%(file)s) in lower(d.filename)) > 0)
            and (%(from)s::timestamptz is null or d.upload_date >= %(from)s)
            and (%(to)s::timestamptz is null or d.upload_date <= %(to)s)
            and (%(documents)s::text[] is null or d.id = any(%(documents)s))
            and (%(agent)s::uuid is null
                 or exists (select from document_agent_links l
                            where l.agent_id = %(agent)s and l.document_id = d.id and l.workspace_id = %(workspace)s)
                 or exists (select from agents a
                            where a.id = %(agent)s and a.workspace_id = %(workspace)s and a.whole_workspace)))
    order by c.terms <@> to_bm25query(asked_terms(%(language)s, %(text)s), '{index}') limit %(room)s
) scored limit %(depth)s;

-- keyword_all: As keyword_indexed where no document is left out: what is indexed of a version goes in the transaction
-- that replaces it, so no chunk has to be asked for its document.
select id, document_id, score * language_weight(language, %(own)s) as score from (
    select c.id, c.document_id, c.language, -bm25_get_current_score() as score
    from document_chunks c
    where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.chunker = %(chunker)s and {condition}
    order by c.terms <@> to_bm25query(asked_terms(%(language)s, %(text)s), '{index}') limit %(room)s
) scored limit %(depth)s;

-- keyword_exact: BM25 over just the chunks that may be searched, with their own statistics; complete. Where they are in
-- `few` documents, those are looked up and not sought. A chunk's words are read once, and of them those alone are kept
-- that are asked for: they are given a weight that no word has. Its length is its bytes, which are known without reading
-- it. Chunks are joined by their version alone, which is of one document: its id is a hash over the document's. With the
-- document's own, two indexes were read for each. Robertson and Zaragoza 2009, with the idf of Lucene; a word that the
-- question says twice counts twice, as in the index. Rounded, for chunks of the same words are to score the same in
-- whatever order they are added up.
with visible as materialized (
    select c.id, c.document_id, c.language, octet_length(c.search_text)::float8 as length,
           ts_filter(setweight(c.lexemes, 'A', tsvector_to_array(asked_words(%(language)s, %(text)s))), '{a}') as lexemes
    from searchable_documents(%(tenant)s, %(workspace)s, %(type)s, %(file)s, %(from)s, %(to)s, %(documents)s,
                              case when not %(few)s::boolean then %(agent)s::uuid end) d
    join document_chunks c on c.version_id = d.version_id
    where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.chunker = %(chunker)s
      and (not %(few)s::boolean or d.id = any((select listed_documents(%(linked)s::uuid, %(most)s::int))::text[]))
), facts as materialized (
    select count(*)::float8 as chunks, greatest(avg(length), 1)::float8 as length from visible
), found as materialized (
    select v.id, v.document_id, v.language, v.length, word.lexeme, cardinality(word.positions)::float8 as times
    from visible v, unnest(v.lexemes) word where length(v.lexemes) > 0
), asked as materialized (
    select lexeme, cardinality(positions)::float8 as said from unnest(asked_words(%(language)s, %(text)s))
), words as materialized (
    select lexeme, ln(1 + (max(facts.chunks) - count(*) + 0.5) / (count(*) + 0.5)) as idf
    from found, facts group by lexeme
)
select f.id, f.document_id, language_weight(f.language, %(own)s) * round(1e9 *
       sum(a.said * w.idf * f.times * (%(k1)s + 1) / (f.times + %(k1)s * (1 - %(b)s + %(b)s * f.length / facts.length)))) / 1e9
       as score
from found f join words w using (lexeme) join asked a using (lexeme), facts
group by f.id, f.document_id, f.language order by score desc, f.id limit %(depth)s;

-- keyword_full_text: Postgres' own ranking, where there is no BM25 index and too much to scan exactly.
select id, document_id, score::float8 from rank_full_text(
    %(text)s, %(depth)s, %(language)s, %(chunker)s, %(type)s, %(file)s, %(from)s, %(to)s, %(documents)s, %(agent)s);

-- literal: Chunks in which an identifier or a quoted phrase stands as it is written, at most `most` of each.
select wanted, id, document_id from holding_literally(
    %(codes)s::text[], %(phrases)s::text[], %(most)s, %(among)s::text[], %(language)s, %(chunker)s, %(type)s, %(file)s,
    %(from)s, %(to)s, %(documents)s, %(agent)s);

-- vector_indexed: Nearest by the graph, best first but for small disorder. {halfvec} is the type it was built on. The walk
-- meets many chunks for each that the filter leaves: an agent's links are asked for alone, documents only where something
-- is asked of them (`filtered`), and whether a chunk is of the version that readers see of those that were found: what
-- is indexed of a version goes in the transaction that replaces it. None of it may be hashed, which takes all there are.
select near.id, near.document_id, near.score
from (
    select e.chunk_id as id, e.document_id, 1 - (e.embedding <=> %(vector)s::vector) as score
    from embeddings e
    where e.generation_id = %(generation)s and e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s
      and (%(agent)s::uuid is null
           or (select l.document_id from document_agent_links l
               where l.agent_id = %(agent)s and l.document_id = e.document_id
                 and l.workspace_id = %(workspace)s) is not null
           or exists (select from agents a
                      where a.id = %(agent)s and a.workspace_id = %(workspace)s and a.whole_workspace))
      and (not %(filtered)s::boolean
           or (select d.id from documents d
               where d.id = e.document_id and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
                 and (%(type)s::text is null or d.file_type = %(type)s)
                 and (%(file)s::text is null or position(lower(%(file)s) in lower(d.filename)) > 0)
                 and (%(from)s::timestamptz is null or d.upload_date >= %(from)s)
                 and (%(to)s::timestamptz is null or d.upload_date <= %(to)s)
                 and (%(documents)s::text[] is null or d.id = any(%(documents)s))) is not null)
    order by e.embedding::{halfvec} <=> %(vector)s::vector::{halfvec} limit %(depth)s
) near
where (select c.version_id from document_chunks c
       where c.id = near.id and c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s)
    = (select d.current_version from documents d
       where d.id = near.document_id and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s);

-- vector_all: As vector_indexed where no document is left out; see keyword_all.
select e.chunk_id as id, e.document_id, 1 - (e.embedding <=> %(vector)s::vector) as score
from embeddings e
where e.generation_id = %(generation)s and e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s
order by e.embedding::{halfvec} <=> %(vector)s::vector::{halfvec} limit %(depth)s;

-- vector_exact: Nearest by measuring every vector that may be searched; materialised, so that no graph is walked. Whether
-- a chunk is of the version that readers see is asked from the best on, until there are enough; `few` as in keyword_exact.
with near as materialized (
    select e.chunk_id as id, e.document_id, d.version_id, 1 - (e.embedding <=> %(vector)s::vector) as score
    from searchable_documents(%(tenant)s, %(workspace)s, %(type)s, %(file)s, %(from)s, %(to)s, %(documents)s,
                              case when not %(few)s::boolean then %(agent)s::uuid end) d
    join embeddings e on e.document_id = d.id
    where e.generation_id = %(generation)s and e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s
      and (not %(few)s::boolean or d.id = any((select listed_documents(%(linked)s::uuid, %(most)s::int))::text[]))
)
select ordered.id, ordered.document_id, ordered.score
from (select near.* from near order by near.score desc, near.id offset 0) ordered
where (select c.version_id from document_chunks c
       where c.id = ordered.id and c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s
         and c.chunker = %(chunker)s) = ordered.version_id
order by ordered.score desc, ordered.id limit %(depth)s;

-- similarities: How near given chunks are to the question, whichever leg found them.
select e.chunk_id as id, 1 - (e.embedding <=> %(vector)s::vector) as score
from embeddings e
where e.generation_id = %(generation)s and e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s
  and e.chunk_id = any(%(ids)s);

-- texts: What a judge of relevance reads of given chunks.
select c.id, c.search_text from document_chunks c
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = any(%(ids)s);

-- passages: Given chunks as they are shown, with how their pages were read. The chunks are fetched before anything is
-- asked of their documents: until a table that was just filled is analysed, the planner takes it for small, and would
-- go through every document of the workspace.
with given as materialized (
    select c.id, c.document_id, c.version_id, c.page_start, c.page_end, c.chunk_index, c.text, c.headings, c.spans,
           c.boxes, c.engine, c.confidence, c.caveats, c.language, c.metadata
    from document_chunks c
    where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = any(%(ids)s)
)
select c.id, c.document_id, c.version_id, d.filename, d.file_type, c.page_start, c.page_end, c.chunk_index, c.text,
       c.headings, c.spans, c.boxes, c.engine, c.confidence, c.caveats, c.language, c.metadata->'metrics' as metrics,
       (c.metadata->'parent'->>'ordinal')::int as parent,
       -- What was looked at under other rules than are given, or in another version, may be of any class.
       case when d.classified_by = 'hand' or (right(d.classified_with, length(d.current_version)) = d.current_version
                 and (%(rules)s::text is null or starts_with(d.classified_with, %(rules)s::text))) then d.classification
            else '?' end as classification
from given c
join documents d on d.id = c.document_id and d.current_version = c.version_id
where d.workspace_id = %(workspace)s;

-- parents: What is read in place of given chunks: the text of their parents from the pages, with the boxes and the titles
-- (`paths`) of all chunks of each; nothing where the pages were read again since they were cut.
with given as materialized (
    select c.id, c.version_id, c.chunker, c.metadata->'parent' as parent
    from document_chunks c join document_versions v on v.id = c.version_id
    where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = any(%(ids)s) and c.metadata ? 'parent'
      and v.reads = coalesce((select max(m.reads) from indexed_versions m join generations g on g.id = m.generation_id
                              where m.version_id = c.version_id and g.chunker = c.chunker), v.reads)
), written as materialized (
    select g.id, g.version_id, string_agg(substr(p.text, s.start + 1, s.stop - s.start), E'\n' order by s.place) as text,
           jsonb_agg(s.span order by s.place) as spans, min(p.number) as page_start, max(p.number) as page_end
    from given g
    cross join lateral (
        select span, place, (span->>0)::int as page, (span->>1)::int as start, (span->>2)::int as stop
        from jsonb_array_elements(g.parent->'spans') with ordinality as listed(span, place)) s
    join pages p on p.version_id = g.version_id and p.number = s.page and p.workspace_id = %(workspace)s
    group by g.id, g.version_id
), parts as materialized (
    select g.id, c.chunk_index, c.headings, c.boxes
    from given g
    join document_chunks c on c.version_id = g.version_id and c.chunker = g.chunker
        and c.chunk_index between (g.parent->>'first')::int and (g.parent->>'last')::int
    where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s
)
select w.id, w.text, w.spans, w.page_start, w.page_end, r.engine, r.confidence,
       caveats_of(w.version_id, array(select distinct (s->>0)::int from jsonb_array_elements(w.spans) s)) as caveats,
       (select jsonb_agg(to_jsonb(p.headings) order by p.chunk_index) from parts p where p.id = w.id) as paths,
       (select coalesce(jsonb_agg(b.box order by p.chunk_index, b.place), '[]')
        from parts p, jsonb_array_elements(p.boxes) with ordinality as b(box, place) where p.id = w.id) as boxes
from written w, reading_of(w.version_id, w.page_start, w.page_end) r;
