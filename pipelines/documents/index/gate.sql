-- side: A generation as the gate compares it: what made it, and how much of what readers see it holds.
select g.id, g.embedder, g.embedder_fingerprint, g.dimension, g.chunker,
       (select count(*) from indexed_versions m join documents d on d.current_version = m.version_id
        where m.generation_id = g.id and m.embedded and m.workspace_id = %(workspace)s and d.workspace_id = %(workspace)s
          and d.tenant_id = %(tenant)s) as documents,
       (select count(*) from document_chunks c join documents d on d.current_version = c.version_id
        where c.chunker = g.chunker and c.workspace_id = %(workspace)s and d.workspace_id = %(workspace)s
          and d.tenant_id = %(tenant)s) as chunks
from generations g where g.id = %(generation)s;

-- sample: Some passages of a generation, spread evenly and the same each time.
select c.id, c.document_id, c.text from document_chunks c
join documents d on d.id = c.document_id and d.current_version = c.version_id
join generations g on g.id = %(generation)s and g.chunker = c.chunker
where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
order by md5(c.id || %(generation)s::text), c.id limit %(limit)s;

-- golden: Questions of the sets that guard the index, with the documents that are to be found, as far as they are there.
select s.id as set_id, s.name, s.least_recall, q.key, q.question, cardinality(q.documents) as expected,
       array(select d.id from documents d
             where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s
               and (d.id = any(q.documents)
                    or lower(d.filename) = any(select lower(name) from unnest(q.documents) name))) as documents
from golden_sets s join golden_questions q on q.set_id = s.id and q.workspace_id = s.workspace_id
where s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s and s.gate and q.answerable
  and q.documents <> '{}'
order by s.name, q.position;

-- nearest: The passages of a generation nearest to a question; every vector is measured, so that no graph hides a fault.
with near as materialized (
    select e.chunk_id, e.document_id, 1 - (e.embedding <=> %(vector)s::vector) as score from embeddings e
    where e.generation_id = %(generation)s and e.workspace_id = %(workspace)s and e.tenant_id = %(tenant)s
    order by e.embedding <=> %(vector)s::vector limit %(depth)s
)
select n.chunk_id, n.document_id, n.score, c.text from near n
join document_chunks c on c.id = n.chunk_id and c.workspace_id = %(workspace)s
join documents d on d.id = n.document_id and d.current_version = c.version_id and d.workspace_id = %(workspace)s
order by n.score desc;

-- own: How near the question is to the passage it was taken from; no row where that has no vector.
select 1 - (e.embedding <=> %(vector)s::vector) as score from embeddings e
where e.generation_id = %(generation)s and e.chunk_id = %(chunk)s and e.workspace_id = %(workspace)s
  and e.tenant_id = %(tenant)s;

-- last_report: What the gate said of the generation that readers use.
select b.report from generation_builds b
where b.workspace_id = %(workspace)s and b.tenant_id = %(tenant)s and b.generation_id = %(generation)s;
