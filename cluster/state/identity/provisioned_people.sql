-- people: A page of those whom a provider may see and for whom a condition over their attributes (SQL/JSON path, strings in
-- lower case where case means nothing) holds, with how many there are; one row without a person where the page is empty.
with found as materialized (
    select u.id, u.email, u.created_at, not u.disabled as active, coalesce(p.user_name, u.email) as user_name,
        p.external_id, p.attributes, coalesce(p.updated_at, u.created_at) as updated_at,
        d.document #>> %(sort)s::text[] as sort_key
    from users u
    left join scim_people p on p.user_id = u.id and p.tenant_id = u.tenant_id
    cross join lateral (
        select jsonb_strip_nulls(
            lower(coalesce(
                p.attributes, jsonb_build_object('emails', jsonb_build_array(jsonb_build_object('value', u.email)))
            )::text)::jsonb
            || jsonb_build_object(
                'id', u.id, 'external_id', p.external_id, 'active', not u.disabled,
                'user_name', lower(coalesce(p.user_name, u.email)),
                'meta', jsonb_build_object(
                    'resource_type', 'User',
                    'created', to_char(u.created_at at time zone 'utc', 'YYYY-MM-DD"t"HH24:MI:SS.US'),
                    'last_modified', to_char(
                        coalesce(p.updated_at, u.created_at) at time zone 'utc', 'YYYY-MM-DD"t"HH24:MI:SS.US')),
                'groups', case when %(with_groups)s then (
                    select jsonb_agg(jsonb_build_object(
                        'value', g.id, 'display', lower(coalesce(g.display_name, g.name)), 'type', 'direct'))
                    from group_members m join groups g on g.id = m.group_id and g.deleted_at is null
                    where m.user_id = u.id and m.tenant_id = u.tenant_id) end)
        ) as document) d
    where u.tenant_id = %(tenant)s and (p.deleted_at is null or not u.disabled)
      and (%(only)s::uuid is null or u.id = %(only)s::uuid)
      and (%(user_name)s::text is null or lower(coalesce(p.user_name, u.email)) = %(user_name)s)
      and (%(condition)s::text is null
        or coalesce(jsonb_path_match(d.document, %(condition)s::text::jsonpath, %(values)s::jsonb, true), false)))
select page.*, counted.total
from (select count(*) as total from found) counted
left join lateral (
    select * from found
    order by case when not %(descending)s then sort_key end collate "C" nulls last,
        case when %(descending)s then sort_key end collate "C" desc nulls first, created_at, id
    offset %(skip)s limit %(limit)s) page on true
order by case when not %(descending)s then sort_key end collate "C" nulls last,
    case when %(descending)s then sort_key end collate "C" desc nulls first, page.created_at, page.id;

-- person: One of them, to be changed. `local_admin`: an administrator by hand, whom no provider changes; `barred`: disabled
-- by hand.
select u.id, not u.disabled as active, u.disabled and u.disabled_by is distinct from 'scim' as barred, (u.role = 'admin' and u.provider is null) or exists (
        select from memberships m
        where m.user_id = u.id and m.tenant_id = u.tenant_id and m.role = 'admin' and m.provider is null) as local_admin
from users u left join scim_people p on p.user_id = u.id and p.tenant_id = u.tenant_id
where u.id = %(user)s and u.tenant_id = %(tenant)s and (p.deleted_at is null or not u.disabled)
for update of u;

-- groups_of: The groups of several people.
select m.user_id, g.id, coalesce(g.display_name, g.name) as display
from group_members m join groups g on g.id = m.group_id and g.deleted_at is null
where m.tenant_id = %(tenant)s and m.user_id = any(%(users)s::uuid[]) order by g.name;

-- lock_name: Who gives one name to two people at once gives it to one after the other.
select pg_advisory_xact_lock(hashtext('scim userName ' || %(tenant)s || lower(%(user_name)s)));

-- name_taken: Whether somebody else is called so.
select u.id from users u left join scim_people p on p.user_id = u.id and p.tenant_id = u.tenant_id
where u.tenant_id = %(tenant)s and u.id is distinct from %(user)s::uuid
  and (lower(p.user_name) = lower(%(user_name)s) or (p.user_name is null and u.email = lower(%(user_name)s))) limit 1;

-- add_user: Somebody who is here by a provider alone; nobody knows the password.
insert into users (tenant_id, email, password_hash, role, provider, disabled, disabled_by)
values (%(tenant)s, %(email)s, %(hash)s, 'viewer', 'scim', not %(active)s, 'scim') returning id;

-- sign_disabled: Somebody is disabled by SCIM, which may take it back.
update users set disabled_by = 'scim' where id = %(user)s and tenant_id = %(tenant)s and disabled;

-- put_person: What the provider calls somebody.
insert into scim_people (user_id, tenant_id, user_name, external_id, attributes)
values (%(user)s, %(tenant)s, %(user_name)s, %(external_id)s, %(attributes)s::jsonb)
on conflict (user_id) do update set user_name = excluded.user_name, external_id = excluded.external_id,
    attributes = excluded.attributes, updated_at = clock_timestamp(), deleted_at = null;

-- forget_person: Nothing of what the provider said of somebody is kept.
insert into scim_people (user_id, tenant_id, deleted_at) values (%(user)s, %(tenant)s, now())
on conflict (user_id) do update set user_name = null, external_id = null, attributes = null, updated_at = now(),
    deleted_at = now();

-- revoke_keys: Every API key of somebody dies.
update api_keys set revoked_at = now() where user_id = %(user)s and tenant_id = %(tenant)s and revoked_at is null;

-- drop_memberships: Somebody has no workspace by SCIM any more.
delete from memberships where user_id = %(user)s and tenant_id = %(tenant)s and provider = 'scim';

-- drop_groups: Somebody is in no group by SCIM any more.
delete from group_members where user_id = %(user)s and tenant_id = %(tenant)s and provider = 'scim';

-- lock_people: Their rights are changed by one at a time.
select id from users where id = any(%(users)s::uuid[]) and tenant_id = %(tenant)s order by id for update;

-- drop_lapsed_memberships: Workspaces that the rules gave and give no more.
delete from memberships m
where m.tenant_id = %(tenant)s and m.user_id = any(%(users)s::uuid[]) and m.provider = 'scim' and not exists (
    select from unnest(%(holders)s::text[], %(places)s::text[]) rule (holder, place)
    join workspaces w on w.tenant_id = m.tenant_id and w.id = m.workspace_id
        and (w.name = rule.place or w.id::text = rule.place)
    where rule.holder = '*' or exists (
        select from group_members b join groups g on g.id = b.group_id and g.deleted_at is null
        where b.user_id = m.user_id and b.tenant_id = m.tenant_id and g.name = rule.holder
          and (b.provider is null or b.provider = 'scim')));

-- put_memberships: Workspaces that the rules give, each with the most that one of them says; what was given by hand, or
-- by another provider, stays as it is.
insert into memberships (user_id, workspace_id, tenant_id, role, provider)
select p.user_id, w.id, w.tenant_id,
    (array['viewer', 'developer', 'operator', 'admin'])[max(
        array_position(array['viewer', 'developer', 'operator', 'admin'], rule.role))], 'scim'
from scim_people p
cross join unnest(%(holders)s::text[], %(places)s::text[], %(roles)s::text[]) rule (holder, place, role)
join workspaces w on w.tenant_id = p.tenant_id and (w.name = rule.place or w.id::text = rule.place)
where p.tenant_id = %(tenant)s and p.user_id = any(%(users)s::uuid[]) and p.deleted_at is null
  and (rule.holder = '*' or exists (
    select from group_members b join groups g on g.id = b.group_id and g.deleted_at is null
    where b.user_id = p.user_id and b.tenant_id = p.tenant_id and g.name = rule.holder
      and (b.provider is null or b.provider = 'scim')))
group by p.user_id, w.id
on conflict (user_id, workspace_id) do update set role = excluded.role
where memberships.provider = 'scim' and memberships.role <> excluded.role;

-- set_tenant_roles: The role in the tenant, of those who are here by SCIM alone.
update users u set role = wanted.role from (
    select p.user_id, (array['viewer', 'developer', 'operator', 'admin'])[coalesce(max(
        array_position(array['viewer', 'developer', 'operator', 'admin'], rule.tenant_role)), 1)] as role
    from scim_people p
    left join unnest(%(holders)s::text[], %(tenant_roles)s::text[]) rule (holder, tenant_role)
        on rule.holder = '*' or exists (
            select from group_members b join groups g on g.id = b.group_id and g.deleted_at is null
            where b.user_id = p.user_id and b.tenant_id = p.tenant_id and g.name = rule.holder
              and (b.provider is null or b.provider = 'scim'))
    where p.tenant_id = %(tenant)s and p.user_id = any(%(users)s::uuid[]) and p.deleted_at is null
    group by p.user_id) wanted
where u.id = wanted.user_id and u.tenant_id = %(tenant)s and u.provider = 'scim' and u.role <> wanted.role;
