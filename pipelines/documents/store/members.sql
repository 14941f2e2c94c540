-- family: Documents with their members, and theirs; each once.
with recursive family (id) as (
    select d.id from documents d where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s
    union
    select d.id from documents d join family f on d.parent_id = f.id where d.workspace_id = %(workspace)s)
select id from family;

-- tree_usage: How many members a whole tree of containers has, and how many bytes those have that a job found there; without
-- the members of one container, which is looked at again.
with recursive above (id, parent_id) as (
    select d.id, d.parent_id from documents d where d.id = %(document)s and d.workspace_id = %(workspace)s
    union all
    select d.id, d.parent_id from documents d join above a on d.id = a.parent_id where d.workspace_id = %(workspace)s),
tree (id, origin, parent_id) as (
    select d.id, d.origin, d.parent_id from documents d join above a on a.id = d.id and a.parent_id is null
    union all
    select d.id, d.origin, d.parent_id from documents d join tree t on d.parent_id = t.id
    where d.workspace_id = %(workspace)s)
select count(*) as members, coalesce(sum((u.payload->>'size')::bigint), 0)::bigint as bytes from tree t
left join units u on u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage = 'survey' and u.key = t.origin
where t.parent_id is not null and t.parent_id <> %(document)s;

-- announce: Members that are new, with what their container says of who may see them.
insert into documents (id, tenant_id, workspace_id, parent_id, origin, filename, file_type, source_type, readers, tags,
                       created_by)
select m.id, p.tenant_id, p.workspace_id, p.id, m.origin, m.filename, m.file_type, p.source_type, p.readers, p.tags,
       p.created_by
from documents p
cross join unnest(%(ids)s::text[], %(origins)s::text[], %(filenames)s::text[], %(file_types)s::text[])
    as m(id, origin, filename, file_type)
where p.id = %(parent)s and p.workspace_id = %(workspace)s
on conflict (id) do nothing returning id;

-- inherit_links: New members are linked to the agents of their container.
insert into document_agent_links (agent_id, document_id, tenant_id, workspace_id)
select l.agent_id, m.id, l.tenant_id, l.workspace_id from document_agent_links l cross join unnest(%(ids)s::text[]) as m(id)
where l.document_id = %(parent)s and l.workspace_id = %(workspace)s
on conflict do nothing;

-- remember_bytes: Where the bytes of members are that have not become a version, so that whoever deletes them finds them.
update documents d set
    metadata = jsonb_set(d.metadata, '{uploads}', coalesce(d.metadata->'uploads', '[]') || to_jsonb(m.location))
from unnest(%(ids)s::text[], %(locations)s::text[]) as m(id, location)
where d.id = m.id and d.workspace_id = %(workspace)s and not coalesce(d.metadata->'uploads', '[]') ? m.location
  and not exists (select from document_versions v where v.document_id = d.id and v.workspace_id = d.workspace_id
                    and v.location = m.location);

-- missing: Members that their container does not have any more.
select d.id from documents d
where d.parent_id = %(parent)s and d.workspace_id = %(workspace)s and d.id <> all(%(kept)s::text[]);

-- locations: Where the bytes of documents' versions are, and those of uploads that never became one.
select v.location from document_versions v
where v.document_id = any(%(documents)s) and v.workspace_id = %(workspace)s
union
select jsonb_array_elements_text(d.metadata->'uploads') from documents d
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s;

-- delete_vectors: By document, for which there is an index; the cascade would look for chunk after chunk.
delete from embeddings e where e.document_id = any(%(documents)s) and e.workspace_id = %(workspace)s;

-- delete: The documents; their versions, pages, chunks and links follow.
delete from documents d where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s;
