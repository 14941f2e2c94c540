-- named: The entities that words name, best first; the function holds the caller's wall.
select id, score
from entities_named(%(names)s, %(words)s, %(prefix)s, %(type)s, %(agent)s, %(least)s::real, %(depth)s);

-- entities: Entities as far as the caller sees their evidence, those first that most documents speak of.
with counted as (
    select m.entity_id as id, max(m.confidence) as confidence, sum(m.occurrences) as occurrences,
           count(distinct m.document_id) as documents, count(*) over () as total
    from graph_documents(%(tenant)s, %(workspace)s, %(agent)s) d
    join entity_mentions m on m.version_id = d.version_id and m.workspace_id = %(workspace)s
    where (%(type)s::text is null or m.type = %(type)s) and (%(ids)s::text[] is null or m.entity_id = any(%(ids)s))
    group by m.entity_id order by documents desc, occurrences desc, m.entity_id offset %(skip)s limit %(limit)s
)
select c.id, e.type, w.name, w.aliases, c.confidence, c.occurrences, c.documents, c.total
from counted c
join entities e on e.id = c.id and e.workspace_id = %(workspace)s
cross join lateral (
    select mode() within group (order by m.name) as name, array_remove(array_agg(distinct m.alias), null) as aliases
    from entity_mentions m
    join graph_documents(%(tenant)s, %(workspace)s, %(agent)s) d on d.version_id = m.version_id
    where m.entity_id = c.id and m.workspace_id = %(workspace)s
) w
order by c.documents desc, c.occurrences desc, c.id;

-- relations: Relations of these entities as far as the caller sees their evidence; with `among` only those between two.
select r.id, r.type, r.source_id, r.target_id, max(v.strength) as strength, count(*) as evidence,
       count(distinct v.document_id) as documents
from relations r
join relation_evidence v on v.relation_id = r.id and v.workspace_id = %(workspace)s
join graph_documents(%(tenant)s, %(workspace)s, %(agent)s) d on d.version_id = v.version_id
where r.workspace_id = %(workspace)s
  and case when %(among)s then r.source_id = any(%(ids)s) and r.target_id = any(%(ids)s)
           else r.source_id = any(%(ids)s) or r.target_id = any(%(ids)s) end
group by r.id order by strength desc, evidence desc, r.id limit %(limit)s;

-- evidence: The sentences that say these relations, the clearest first, so many of each.
select relation_id, document_id, version_id, filename, page, start_at, end_at, quote, sure, found_by from (
    select v.relation_id, v.document_id, v.version_id, d.filename, v.page, v.start_at, v.end_at, v.evidence as quote,
           v.strength as sure, v.found_by,
           row_number() over (partition by v.relation_id order by v.strength desc, v.document_id, v.page) as place
    from relation_evidence v
    join graph_documents(%(tenant)s, %(workspace)s, %(agent)s) d on d.version_id = v.version_id
    where v.relation_id = any(%(ids)s) and v.workspace_id = %(workspace)s
) e where place <= %(each)s order by relation_id, place;

-- mentions: Where an entity is named, the surest first, with the sentence around it as the page has it.
select m.document_id, m.version_id, d.filename, m.page, m.quote_start as start_at, m.quote_end as end_at,
       substring(p.text from m.quote_start + 1 for m.quote_end - m.quote_start) as quote, m.confidence as sure, m.found_by
from entity_mentions m
join graph_documents(%(tenant)s, %(workspace)s, %(agent)s) d on d.version_id = m.version_id
join pages p on p.version_id = m.version_id and p.number = m.page and p.workspace_id = m.workspace_id
where m.entity_id = %(entity)s and m.workspace_id = %(workspace)s
order by m.confidence desc, m.occurrences desc, m.document_id, m.page limit %(limit)s;
