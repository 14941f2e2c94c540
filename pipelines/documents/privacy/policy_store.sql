-- current: The last version of each policy that reaches a workspace, those of the whole tenant first.
select * from (
    select distinct on (id) id, version, workspace_id, name, body, active, created_by, created_at
    from governance_policies
    where tenant_id = %(tenant)s and (workspace_id is null or workspace_id = %(workspace)s)
    order by id, version desc
) p
where p.active
order by p.workspace_id is not null, p.name, p.id;

-- versions: Every version of a policy, the newest first.
select id, version, workspace_id, name, body, active, created_by, created_at from governance_policies
where id = %(policy)s and tenant_id = %(tenant)s and (workspace_id is null or workspace_id = %(workspace)s)
order by version desc;

-- lock: Changes of one policy come one after the other.
select pg_advisory_xact_lock(hashtextextended('governance policy ' || %(policy)s::text, 0));

-- add: Another version.
insert into governance_policies (id, version, tenant_id, workspace_id, name, body, active, created_by)
values (%(policy)s, %(version)s, %(tenant)s, %(of)s, %(name)s, %(body)s, %(active)s, %(user)s)
returning id, version, workspace_id, name, body, active, created_by, created_at;

-- forget: What was remembered of searches is old now, in one workspace or in all; locked in one order, as by `lock_corpus`.
with reached as (
    select w.id from workspaces w
    where w.tenant_id = %(tenant)s and (%(of)s::uuid is null or w.id = %(of)s::uuid)
    order by w.id for no key update)
update workspaces w set corpus_version = corpus_version + 1
from reached r where w.id = r.id and w.tenant_id = %(tenant)s;
