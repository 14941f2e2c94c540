-- groups: A page of the tenant's groups for which a condition over their attributes (SQL/JSON path) holds, with how many
-- there are, and how many belong to each; one row without a group where the page is empty.
with found as materialized (
    select g.id, g.name, coalesce(g.display_name, g.name) as display_name, g.external_id, g.created_at,
        coalesce(g.updated_at, g.created_at) as updated_at, d.document #>> %(sort)s::text[] as sort_key
    from groups g
    cross join lateral (
        select jsonb_strip_nulls(jsonb_build_object(
            'id', g.id, 'external_id', g.external_id, 'display_name', lower(coalesce(g.display_name, g.name)),
            'meta', jsonb_build_object(
                'resource_type', 'Group',
                'created', to_char(g.created_at at time zone 'utc', 'YYYY-MM-DD"t"HH24:MI:SS.US'),
                'last_modified', to_char(
                    coalesce(g.updated_at, g.created_at) at time zone 'utc', 'YYYY-MM-DD"t"HH24:MI:SS.US')),
            'members', case when %(with_members)s then (
                select jsonb_agg(jsonb_build_object('value', m.user_id, 'type', 'user'))
                from group_members m where m.group_id = g.id and m.tenant_id = g.tenant_id) end)
        ) as document) d
    where g.tenant_id = %(tenant)s and g.deleted_at is null
      and (%(only)s::uuid is null or g.id = %(only)s::uuid)
      and (%(condition)s::text is null
        or coalesce(jsonb_path_match(d.document, %(condition)s::text::jsonpath, %(values)s::jsonb, true), false)))
select page.*, counted.total,
    (select count(*) from group_members m where m.group_id = page.id and m.tenant_id = %(tenant)s) as members
from (select count(*) as total from found) counted
left join lateral (
    select * from found
    order by case when not %(descending)s then sort_key end collate "C" nulls last,
        case when %(descending)s then sort_key end collate "C" desc nulls first, created_at, id
    offset %(skip)s limit %(limit)s) page on true
order by case when not %(descending)s then sort_key end collate "C" nulls last,
    case when %(descending)s then sort_key end collate "C" desc nulls first, page.created_at, page.id;

-- group: One of them, to be changed.
select g.id, g.name, coalesce(g.display_name, g.name) as display_name, g.external_id, g.created_at, g.provider,
    coalesce(g.updated_at, g.created_at) as updated_at
from groups g where g.id = %(group)s and g.tenant_id = %(tenant)s and g.deleted_at is null
for update;

-- members_of: Who belongs to several groups, of those whom the provider may name.
select m.group_id, m.user_id from group_members m join users u on u.id = m.user_id
left join scim_people p on p.user_id = u.id and p.tenant_id = m.tenant_id
where m.tenant_id = %(tenant)s and m.group_id = any(%(groups)s::uuid[]) and (p.deleted_at is null or not u.disabled)
order by m.added_at, m.user_id;

-- some_members: Of these people those who belong to a group, of those whom the provider may name.
select m.user_id from group_members m join users u on u.id = m.user_id
left join scim_people p on p.user_id = u.id and p.tenant_id = m.tenant_id
where m.tenant_id = %(tenant)s and m.group_id = %(group)s and m.user_id = any(%(users)s::uuid[])
  and (p.deleted_at is null or not u.disabled)
order by m.added_at, m.user_id;

-- display_taken: Whether another group is called, or shown, so.
select id from groups where tenant_id = %(tenant)s and id is distinct from %(group)s::uuid and deleted_at is null
  and (name = lower(%(display_name)s) or lower(display_name) = lower(%(display_name)s)) limit 1;

-- set_attributes: What the provider calls a group.
update groups set display_name = %(display_name)s, external_id = %(external_id)s, updated_at = clock_timestamp()
where id = %(group)s and tenant_id = %(tenant)s;

-- set_provider: A group is a provider's, or an administrator's own.
update groups set provider = %(provider)s where id = %(group)s and tenant_id = %(tenant)s;

-- known_people: Of these people those whom the provider may name.
select u.id from users u left join scim_people p on p.user_id = u.id and p.tenant_id = u.tenant_id
where u.tenant_id = %(tenant)s and u.id = any(%(users)s::uuid[]) and (p.deleted_at is null or not u.disabled);

-- local_admins: Of these people one who administers something by an administrator's own hand.
select u.email from users u
where u.tenant_id = %(tenant)s and u.id = any(%(users)s::uuid[])
  and ((u.role = 'admin' and u.provider is null) or exists (
      select from memberships m where m.user_id = u.id and m.tenant_id = u.tenant_id
        and m.role = 'admin' and m.provider is null))
order by u.email limit 1;

-- add_members: People belong to the group by SCIM from now on, also those who did by another provider, which takes that
-- away no more; who does by hand still does.
insert into group_members (group_id, tenant_id, user_id, provider)
select %(group)s, %(tenant)s, id, 'scim' from unnest(%(users)s::uuid[]) id
on conflict (group_id, user_id) do update set provider = 'scim' where group_members.provider <> 'scim';

-- remove_members: People belong to the group no more, unless an administrator has said so; whoever administers by hand
-- loses what SCIM gave and nothing else.
delete from group_members g
where g.group_id = %(group)s and g.tenant_id = %(tenant)s and g.user_id = any(%(users)s::uuid[])
  and (g.provider = 'scim' or (g.provider is not null and not exists (
      select from users u where u.id = g.user_id and u.tenant_id = g.tenant_id
        and ((u.role = 'admin' and u.provider is null) or exists (
            select from memberships m where m.user_id = u.id and m.tenant_id = u.tenant_id
              and m.role = 'admin' and m.provider is null)))))
returning g.user_id;

-- touch: The moment of the last change.
update groups set updated_at = clock_timestamp() where id = %(group)s and tenant_id = %(tenant)s;

-- adopt_people: Whom the provider names it has to do with, and its rules hold for them.
insert into scim_people (user_id, tenant_id)
select u.id, u.tenant_id from users u where u.tenant_id = %(tenant)s and u.id = any(%(users)s::uuid[])
on conflict (user_id) do update set deleted_at = null where scim_people.deleted_at is not null;
