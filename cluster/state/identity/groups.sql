-- groups: The groups of a tenant, with how many belong to each.
select g.id, g.name, g.created_at, (select count(*) from group_members m where m.group_id = g.id) as members
from groups g
where g.tenant_id = %(tenant)s and g.deleted_at is null
  and (%(part)s::text is null or position(lower(%(part)s) in g.name) > 0)
order by g.name offset %(skip)s limit %(limit)s;

-- count_groups: How many those are.
select count(*) as total from groups g
where g.tenant_id = %(tenant)s and g.deleted_at is null
  and (%(part)s::text is null or position(lower(%(part)s) in g.name) > 0);

-- group: One group.
select g.id, g.name, g.created_at, (select count(*) from group_members m where m.group_id = g.id) as members
from groups g where g.id = %(group)s and g.tenant_id = %(tenant)s and g.deleted_at is null;

-- known_names: Of these names those that groups have.
select name from groups where tenant_id = %(tenant)s and name = any(%(names)s) and deleted_at is null;

-- add_group: A group without members.
insert into groups (tenant_id, name) values (%(tenant)s, %(name)s) returning id;

-- restore_group: A deleted group is there again, without its members.
with back as (
    update groups set deleted_at = null, created_at = now()
    where tenant_id = %(tenant)s and name = %(name)s and deleted_at is not null returning id),
left_over as (delete from group_members m using back where m.group_id = back.id)
select id from back;

-- delete_group: Nobody belongs to it any more; its name stays taken.
with gone as (
    update groups set deleted_at = now()
    where id = %(group)s and tenant_id = %(tenant)s and deleted_at is null returning id, name),
left_by as (delete from group_members m using gone where m.group_id = gone.id)
select name from gone;

-- members: Who belongs to a group.
select u.id, u.email, u.disabled, m.added_at from group_members m join users u on u.id = m.user_id
where m.group_id = %(group)s and m.tenant_id = %(tenant)s
order by u.email offset %(skip)s limit %(limit)s;

-- count_members: How many those are.
select count(*) as total from group_members where group_id = %(group)s and tenant_id = %(tenant)s;

-- add_member: Somebody of the tenant belongs to the group from now on, by hand: no provider takes that away.
insert into group_members (group_id, tenant_id, user_id)
select g.id, g.tenant_id, u.id from groups g join users u on u.tenant_id = g.tenant_id
where g.id = %(group)s and g.tenant_id = %(tenant)s and g.deleted_at is null and u.id = %(user)s
for share of g
on conflict (group_id, user_id) do update set provider = null
returning user_id;

-- remove_member: Somebody does not belong to the group any more.
delete from group_members where group_id = %(group)s and user_id = %(user)s and tenant_id = %(tenant)s
returning user_id;
