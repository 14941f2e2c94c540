-- all: The credentials of the workspace by name; never what is sealed, only the names of its fields.
select c.id, c.name, c.type, c.fields, c.extra, c.is_active, c.bound, c.context_id, c.expires_at, c.created_by,
       c.created_at, c.updated_at,
       (select count(*) from credential_bindings b
        where b.credential_id = c.id and b.workspace_id = c.workspace_id) as bindings
from credentials c where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s
order by c.name, c.id offset %(skip)s limit %(limit)s;

-- count: How many there are.
select count(*) as total from credentials c where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s;

-- one: One credential, locked until the transaction ends.
select c.id, c.name, c.type, c.fields, c.extra, c.is_active, c.bound, c.context_id, c.expires_at, c.created_by,
       c.created_at, c.updated_at,
       (select count(*) from credential_bindings b
        where b.credential_id = c.id and b.workspace_id = c.workspace_id) as bindings
from credentials c where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = %(id)s::uuid
for update of c;

-- add: A credential; nothing where the workspace, or the conversation that it is of, has one of this name.
insert into credentials (id, tenant_id, workspace_id, name, type, sealed, fields, extra, is_active, bound, context_id,
    expires_at, created_by)
values (%(id)s, %(tenant)s, %(workspace)s, %(name)s, %(type)s, %(sealed)s, %(fields)s, %(extra)s, %(is_active)s,
    %(bound)s, %(context)s::uuid, %(expires_at)s, %(user)s::uuid)
on conflict do nothing
returning id;

-- name_taken: Whether another of the same workspace or conversation has this name.
select 1 as taken from credentials c
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.name = %(name)s and c.id <> %(id)s::uuid
  and c.context_id is not distinct from %(context)s::uuid;

-- change: Its name, and whether, for whom and how long it may be used.
update credentials c
set name = %(name)s, is_active = %(is_active)s, bound = %(bound)s, expires_at = %(expires_at)s,
    updated_at = clock_timestamp()
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = %(id)s::uuid;

-- replace: Another content, sealed and not.
update credentials c
set sealed = %(sealed)s, fields = %(fields)s, extra = %(extra)s, updated_at = clock_timestamp()
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = %(id)s::uuid;

-- remove: Forget a credential and who may use it.
delete from credentials c
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = %(id)s::uuid;

-- session: Whether there is such a conversation.
select s.id from sessions s
where s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and s.id = %(id)s::uuid;

-- agent: An agent and how it works.
select a.id, a.config from agents a
where a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s and a.id = %(id)s::uuid;

-- bindings: Who may use a credential.
select b.id, b.agent_id, a.name as agent, b.skill, b.role, b.created_by, b.created_at
from credential_bindings b
left join agents a on a.id = b.agent_id and a.workspace_id = b.workspace_id
where b.tenant_id = %(tenant)s and b.workspace_id = %(workspace)s and b.credential_id = %(id)s::uuid
order by b.created_at, b.id;

-- bind: One more who may use it, for the newest content of a skill of the workspace; one that was made for another
-- content is made anew. Nothing where the same stands there.
insert into credential_bindings as b
    (id, tenant_id, workspace_id, credential_id, agent_id, skill, role, created_by, sha256)
values (%(binding)s, %(tenant)s, %(workspace)s, %(id)s, %(agent)s::uuid, %(skill)s, %(role)s, %(user)s::uuid,
    (select s.sha256 from skills s where s.workspace_id = %(workspace)s and s.name = %(skill)s
     order by s.version desc limit 1))
on conflict (credential_id, coalesce(agent_id::text, ''), coalesce(skill, ''), coalesce(role, ''))
do update set sha256 = excluded.sha256, created_by = excluded.created_by, created_at = now()
where b.sha256 is distinct from excluded.sha256
returning b.id;

-- close: From now on only calls that a binding fits may use it.
update credentials c set bound = true, updated_at = clock_timestamp()
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = %(id)s::uuid and not c.bound;

-- unbind: One less who may use it.
delete from credential_bindings b
where b.tenant_id = %(tenant)s and b.workspace_id = %(workspace)s and b.credential_id = %(id)s::uuid
  and b.id = %(binding)s::uuid;

-- known: What a call could use: the workspace's own, and those of the conversation that it is made in.
select c.id, c.name, c.type, c.extra, c.is_active, c.bound, c.context_id, c.expires_at
from credentials c
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s
  and (c.context_id is null or c.context_id = %(session)s::uuid)
order by c.name, c.id;

-- granted: Who may use which of the credentials of a type.
select b.credential_id, b.agent_id, b.skill, b.role, b.sha256
from credential_bindings b
join credentials c on c.id = b.credential_id and c.workspace_id = b.workspace_id
where b.tenant_id = %(tenant)s and b.workspace_id = %(workspace)s and c.type = %(type)s
order by b.credential_id, b.id;

-- envelope: What is sealed of one credential, for one call; nothing where it is off, or ran out meanwhile.
select open_credential(c.id) as sealed from credentials c
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = %(id)s::uuid;
