-- hold: Let nobody else number versions of this name until the end of the transaction.
select pg_advisory_xact_lock(hashtextextended(%(workspace)s || ' skill ' || %(name)s, 0));

-- count: How many names there are.
select count(distinct s.name) as total from skills s where s.workspace_id = %(workspace)s;

-- add: The next version.
insert into skills (tenant_id, workspace_id, name, version, manifest, body, code, sha256, created_by, package)
values (%(tenant)s, %(workspace)s, %(name)s, %(version)s, %(manifest)s, %(body)s, %(code)s, %(sha256)s, %(user)s,
    %(package)s)
returning name, version, manifest, body, code, sha256, created_by, created_at;

-- newest: The newest version of a name, or the one that is asked for.
select s.name, s.version, s.manifest, s.body, s.code, s.sha256, s.created_by, s.created_at, s.package from skills s
where s.workspace_id = %(workspace)s and s.name = %(name)s and (%(version)s::int is null or s.version = %(version)s)
order by s.version desc limit 1;

-- versions: Every version of a name, the newest first.
select s.name, s.version, s.manifest, s.body, s.code, s.sha256, s.created_by, s.created_at from skills s
where s.workspace_id = %(workspace)s and s.name = %(name)s order by s.version desc limit %(limit)s;

-- newest_of_each: The newest version of every name.
select distinct on (s.name) s.name, s.version, s.manifest, s.body, s.code, s.sha256, s.created_by, s.created_at
from skills s where s.workspace_id = %(workspace)s order by s.name, s.version desc;

-- attach: Give an agent a skill, or another version of it.
insert into agent_skills as x (agent_id, skill, tenant_id, workspace_id, version, attached_by)
values (%(agent)s::uuid, %(name)s, %(tenant)s, %(workspace)s, %(version)s, %(user)s)
on conflict (agent_id, skill) do update set version = excluded.version
where x.version is distinct from excluded.version;

-- detach: Take a skill away from an agent.
delete from agent_skills x
where x.agent_id = %(agent)s::uuid and x.skill = %(name)s and x.workspace_id = %(workspace)s;

-- having: The agents that have a skill, by name; they keep it until the end of the transaction.
select a.id, a.name as agent from agent_skills x
join agents a on a.id = x.agent_id and a.workspace_id = x.workspace_id
where x.workspace_id = %(workspace)s and x.skill = %(name)s order by a.name for update of x;

-- detach_all: Take a skill away from every agent.
delete from agent_skills x where x.workspace_id = %(workspace)s and x.skill = %(name)s;

-- remove: Every version of a name.
delete from skills s where s.workspace_id = %(workspace)s and s.name = %(name)s;

-- attached: What an agent has, each with the version that a turn would have now. What ships has no version here; an agent
-- without skills is one row without a skill.
select x.skill, x.version as pinned, x.attached_at,
    s.name, s.version, s.manifest, s.body, s.code, s.sha256, s.created_by, s.created_at
from agents a
left join agent_skills x on x.agent_id = a.id and x.workspace_id = a.workspace_id
left join lateral (
    select * from skills k
    where k.workspace_id = x.workspace_id and k.name = x.skill and (x.version is null or k.version = x.version)
    order by k.version desc limit 1) s on true
where a.id = %(agent)s::uuid and a.workspace_id = %(workspace)s order by x.skill;
