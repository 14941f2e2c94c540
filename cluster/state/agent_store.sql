-- list: The agents of a workspace by name, with how many documents each may search.
select a.id, a.name, a.description, a.system_prompt, a.auto_link_uploads, a.whole_workspace, a.config, a.metadata, a.created_at,
       a.updated_at,
       (select count(*) from document_agent_links l
        where l.agent_id = a.id and l.workspace_id = a.workspace_id) as documents
from agents a where a.workspace_id = %(workspace)s order by a.name, a.id offset %(skip)s limit %(limit)s;

-- count: How many agents there are.
select count(*) as total from agents a where a.workspace_id = %(workspace)s;

-- add: An agent.
insert into agents (tenant_id, workspace_id, name, description, system_prompt, auto_link_uploads, whole_workspace,
    config, metadata)
values (%(tenant)s, %(workspace)s, %(name)s, %(description)s, %(system_prompt)s, %(auto_link_uploads)s,
    %(whole_workspace)s, %(config)s, %(metadata)s)
returning id, name, description, system_prompt, auto_link_uploads, whole_workspace, config, metadata, created_at,
    updated_at;

-- open: The agent that every workspace has; nothing where it is there.
insert into agents (tenant_id, workspace_id, name, description, system_prompt, auto_link_uploads, whole_workspace,
    config, metadata)
values (%(tenant)s, %(workspace)s, %(name)s, %(description)s, %(system_prompt)s, %(auto_link_uploads)s,
    %(whole_workspace)s, %(config)s, %(metadata)s)
on conflict (workspace_id, name) do nothing returning id;

-- show: One agent, with how many documents it may search.
select a.id, a.name, a.description, a.system_prompt, a.auto_link_uploads, a.whole_workspace, a.config, a.metadata, a.created_at,
       a.updated_at,
       (select count(*) from document_agent_links l
        where l.agent_id = a.id and l.workspace_id = a.workspace_id) as documents
from agents a where a.id = %(agent)s::uuid and a.workspace_id = %(workspace)s;

-- change: Other values; keys of config and metadata are merged, those that are null are taken away (RFC 7396).
update agents a set
    name = coalesce(%(name)s, a.name), description = coalesce(%(description)s, a.description),
    system_prompt = coalesce(%(system_prompt)s, a.system_prompt),
    auto_link_uploads = coalesce(%(auto_link_uploads)s, a.auto_link_uploads),
    whole_workspace = coalesce(%(whole_workspace)s, a.whole_workspace),
    config = jsonb_strip_nulls(a.config || %(config)s), metadata = jsonb_strip_nulls(a.metadata || %(metadata)s),
    updated_at = now()
where a.id = %(agent)s::uuid and a.workspace_id = %(workspace)s returning a.id;

-- lock: The agent, so that no turn begins while it is deleted.
select a.id from agents a where a.id = %(agent)s::uuid and a.workspace_id = %(workspace)s for update;

-- busy: A turn of the agent, or of a conversation with it, that has not ended, or that had begun something of which nobody
-- has said what became: an approved action must not lose its record.
select r.id, r.state from runs r
where r.workspace_id = %(workspace)s
  and (r.agent_id = %(agent)s::uuid
       or r.session_id in (select c.id from sessions c
                           where c.agent_id = %(agent)s::uuid and c.workspace_id = %(workspace)s))
  and (r.state in ('queued', 'running', 'waiting')
       or (r.state = 'interrupted' and exists (select from run_steps s
               where s.run_id = r.id and s.workspace_id = r.workspace_id and s.kind = 'tool' and s.state = 'started'))
       or exists (select from approvals a
               where a.run_id = r.id and a.workspace_id = r.workspace_id
                 and (a.execution = 'needs_reconcile' or (a.category = 'reconcile' and a.state = 'pending'))))
limit 1;

-- delete: An agent with its conversations and their runs' events, which hang on nothing; documents stay.
with streams as (
    select 'run:' || r.id as stream from runs r
    where r.workspace_id = %(workspace)s
      and (r.agent_id = %(agent)s::uuid
           or r.session_id in (select c.id from sessions c
                               where c.agent_id = %(agent)s::uuid and c.workspace_id = %(workspace)s))
), untold as (
    delete from events e where e.stream in (select stream from streams) and e.workspace_id = %(workspace)s
), closed as (
    delete from event_streams e where e.stream in (select stream from streams) and e.workspace_id = %(workspace)s
)
delete from agents a where a.id = %(agent)s::uuid and a.workspace_id = %(workspace)s;

-- require: An agent; it is not deleted before this transaction has ended.
select a.id from agents a where a.id = %(agent)s::uuid and a.workspace_id = %(workspace)s for share;

-- resolve: An agent by its id or by its name; an id wins over another agent that is named like it.
select a.id, a.name from agents a
where (a.id::text = lower(%(agent)s) or a.name = %(agent)s) and a.workspace_id = %(workspace)s
order by (a.id::text = lower(%(agent)s)) desc limit 1;
