-- missing: Those of the ids that name no document here.
select wanted.id from unnest(%(documents)s::text[]) as wanted(id)
where not exists (select 1 from documents d where d.id = wanted.id and d.workspace_id = %(workspace)s);

-- link: Link documents to an agent; what is linked stays so.
insert into document_agent_links (agent_id, document_id, tenant_id, workspace_id)
select a.id, d.id, d.tenant_id, d.workspace_id from documents d
join agents a on a.id = %(agent)s::uuid and a.workspace_id = d.workspace_id
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s
on conflict do nothing;

-- auto_link: Link a new upload to the agents that take every upload.
insert into document_agent_links (agent_id, document_id, tenant_id, workspace_id)
select a.id, d.id, d.tenant_id, d.workspace_id from documents d
join agents a on a.workspace_id = d.workspace_id and a.auto_link_uploads
where d.id = %(document)s and d.workspace_id = %(workspace)s
on conflict do nothing;

-- documents: A page of the documents that are linked to an agent, or that are not, by name.
select d.id, d.filename, d.file_type, d.status, v.page_count, d.upload_date from documents d
left join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where d.workspace_id = %(workspace)s
  and (%(search)s::text is null or strpos(lower(d.filename), lower(%(search)s)) > 0)
  and exists (select from document_agent_links l
              where l.agent_id = %(agent)s::uuid and l.document_id = d.id and l.workspace_id = d.workspace_id) = %(linked)s
order by d.filename, d.id offset %(skip)s limit %(limit)s;

-- count_documents: How many documents the same filters find.
select count(*) as total from documents d
where d.workspace_id = %(workspace)s
  and (%(search)s::text is null or strpos(lower(d.filename), lower(%(search)s)) > 0)
  and exists (select from document_agent_links l
              where l.agent_id = %(agent)s::uuid and l.document_id = d.id and l.workspace_id = d.workspace_id) = %(linked)s;

-- unlink: Take documents from an agent.
delete from document_agent_links l
where l.agent_id = %(agent)s::uuid and l.document_id = any(%(documents)s) and l.workspace_id = %(workspace)s;
