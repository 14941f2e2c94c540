-- recorded: What was made of a version's text, and what that text is now; no row where readers do not see the version.
select v.reads, d.id as document_id, g.reads as made_of, g.fingerprint
from document_versions v
join documents d on d.id = v.document_id and d.current_version = v.id
left join graph_versions g on g.version_id = v.id and g.workspace_id = v.workspace_id
where v.id = %(version)s and v.workspace_id = %(workspace)s;

-- texts: The text of a version's pages that could be read, in order.
select number, text from pages
where version_id = %(version)s and workspace_id = %(workspace)s and failure is null and text <> '' order by number;

-- lock_version: The version and its counter, held against a delete until the transaction ends; only one that is current.
select d.id as document_id, v.reads from documents d join document_versions v on v.id = d.current_version
where v.id = %(version)s and d.workspace_id = %(workspace)s for update of d;

-- drop_relations: What all versions of a document said of relations.
delete from relation_evidence where workspace_id = %(workspace)s
  and version_id in (select v.id from document_versions v where v.document_id = %(document)s);

-- drop_mentions: What all versions of a document mentioned.
delete from entity_mentions where workspace_id = %(workspace)s
  and version_id in (select v.id from document_versions v where v.document_id = %(document)s);

-- put_entities: Names that are new in the workspace.
insert into entities (id, tenant_id, workspace_id, type, canonical_name)
select e.id, %(tenant)s, %(workspace)s, e.type, e.name
from unnest(%(ids)s::text[], %(types)s::text[], %(names)s::text[]) as e(id, type, name)
order by e.id on conflict (id) do nothing;

-- put_mentions: Where a version names them.
insert into entity_mentions (entity_id, version_id, page, document_id, tenant_id, workspace_id, type, name, alias,
                             start_at, end_at, quote_start, quote_end, occurrences, confidence, found_by)
select m.entity_id, %(version)s, m.page, %(document)s, %(tenant)s, %(workspace)s, m.type, m.name, m.alias, m.start_at, m.end_at,
       m.quote_start, m.quote_end, m.occurrences, m.confidence, m.found_by
from unnest(%(ids)s::text[], %(types)s::text[], %(pages)s::int[], %(names)s::text[], %(aliases)s::text[],
            %(starts)s::int[], %(ends)s::int[], %(quote_starts)s::int[], %(quote_ends)s::int[], %(occurrences)s::int[],
            %(confidences)s::real[], %(found_by)s::text[])
    as m(entity_id, type, page, name, alias, start_at, end_at, quote_start, quote_end, occurrences, confidence, found_by);

-- put_relations: Relations that are new in the workspace.
insert into relations (id, tenant_id, workspace_id, source_id, target_id, type)
select r.id, %(tenant)s, %(workspace)s, r.source, r.target, r.type
from unnest(%(ids)s::text[], %(sources)s::text[], %(targets)s::text[], %(types)s::text[]) as r(id, source, target, type)
order by r.id on conflict (id) do nothing;

-- put_evidence: The sentences of a version that say them.
insert into relation_evidence (relation_id, version_id, page, start_at, end_at, document_id, tenant_id, workspace_id,
                               evidence, strength, found_by)
select r.id, %(version)s, r.page, r.start_at, r.end_at, %(document)s, %(tenant)s, %(workspace)s, r.evidence, r.strength,
       r.found_by
from unnest(%(ids)s::text[], %(pages)s::int[], %(starts)s::int[], %(ends)s::int[], %(evidence)s::text[],
            %(strengths)s::real[], %(found_by)s::text[])
    as r(id, page, start_at, end_at, evidence, strength, found_by)
on conflict do nothing;

-- record: What was made of this text, by which rules.
insert into graph_versions (version_id, document_id, tenant_id, workspace_id, reads, fingerprint, entities, relations,
                            note)
values (%(version)s, %(document)s, %(tenant)s, %(workspace)s, %(reads)s, %(fingerprint)s, %(entities)s, %(relations)s,
        %(note)s)
on conflict (version_id) do update set reads = excluded.reads, fingerprint = excluded.fingerprint,
    entities = excluded.entities, relations = excluded.relations, note = excluded.note, at = clock_timestamp();

-- payer: The agent that a version's document is linked to first, with its config: it is asked in whose name a model is.
select a.id, a.config from document_agent_links l
join agents a on a.id = l.agent_id and a.workspace_id = l.workspace_id
join document_versions v on v.document_id = l.document_id
where v.id = %(version)s and l.workspace_id = %(workspace)s
  and (%(agent)s::uuid is null or a.id = %(agent)s::uuid)
order by l.created_at, a.id limit 1;
