-- find: The ids behind an e-mail address, the hash of an API key or the hash of a refresh token.
select user_id, tenant_id, workspace_id, key_id from find_login(%(kind)s, %(value)s);

-- credentials: What a password is checked against.
select id, password_hash from users where id = %(user)s and tenant_id = %(tenant)s;

-- member: A user in one workspace, or in the oldest one they belong to; with a session only while that one and the
-- token's version are the present ones. What a provider gave counts until its time is over.
select u.id as user_id, u.tenant_id, u.email, u.must_change_password, u.token_version, m.workspace_id, m.role,
    case when u.provider = x.provider then 'viewer' else u.role end as tenant_role,
    array(select g.name from group_members b join groups g on g.id = b.group_id and g.deleted_at is null
          where b.user_id = u.id and b.tenant_id = u.tenant_id
            and (x.provider is null or b.provider is distinct from x.provider) order by g.name) as groups,
    exists (select from tenants t where t.id = u.tenant_id and t.parent_id is null) as first_tenant
from users u
join memberships m on m.user_id = u.id and m.tenant_id = u.tenant_id
join workspaces w on w.id = m.workspace_id and w.tenant_id = u.tenant_id
left join external_accounts x on x.user_id = u.id and x.tenant_id = u.tenant_id and x.rights_end_at <= now()
where u.id = %(user)s and u.tenant_id = %(tenant)s and not u.disabled
  and (x.provider is null or m.provider is distinct from x.provider)
  and (%(workspace)s::uuid is null or m.workspace_id = %(workspace)s::uuid)
  and (%(session)s::uuid is null or u.token_version = %(version)s and exists (
      select from refresh_tokens r
      where r.family = %(session)s::uuid and r.user_id = u.id and r.tenant_id = u.tenant_id and r.ended_at is null))
order by w.created_at, w.id limit 1;

-- credential_ended: Whether a user's login was ended or their API key revoked; one that only ran out was not.
select exists (select from refresh_tokens r where r.family = %(session)s::uuid
               and r.user_id = %(user)s and r.tenant_id = %(tenant)s and r.ended_at is not null)
    or exists (select from api_keys k
               where k.id = %(key)s::uuid and k.tenant_id = %(tenant)s and k.revoked_at is not null) as ended;

-- key: A living API key, and whether its last use was long enough ago to be written down.
select id, role, workspace_id, may_impersonate, coalesce(last_used_at < now() - interval '1 minute', true) as unwritten from api_keys
where id = %(key)s and tenant_id = %(tenant)s and revoked_at is null;

-- key_owner: Whose a living API key is, and what it may.
select user_id, role from api_keys where id = %(key)s and tenant_id = %(tenant)s and revoked_at is null;

-- touch_key: Write down that a key was used.
update api_keys set last_used_at = now() where id = %(key)s and tenant_id = %(tenant)s;

-- set_password: A new password; it was chosen by its owner.
update users set password_hash = %(hash)s, must_change_password = false
where id = %(user)s and tenant_id = %(tenant)s;

-- lock_user: Who renews a session and who ends it wait for each other: what the one writes the other has to see.
select id from users where id = %(user)s and tenant_id = %(tenant)s for no key update;

-- end_sessions: Every session of a user ends; it is remembered until its tokens would have run out.
update refresh_tokens set ended_at = now()
where user_id = %(user)s and tenant_id = %(tenant)s and ended_at is null;

-- end_session: The session ends that a refresh token belongs to.
update refresh_tokens set ended_at = now() where tenant_id = %(tenant)s and ended_at is null and family in (
    select family from refresh_tokens where hash = %(hash)s and tenant_id = %(tenant)s);

-- sweep_sessions: A user's refresh tokens that ran out are of no more use.
delete from refresh_tokens where user_id = %(user)s and tenant_id = %(tenant)s and expires_at < %(now)s;

-- keep_refresh: Remember a refresh token by its hash.
insert into refresh_tokens (hash, family, tenant_id, user_id, workspace_id, expires_at)
values (%(hash)s, %(family)s, %(tenant)s, %(user)s, %(workspace)s, %(expires)s);

-- use_refresh: Spend a refresh token; no row where it is spent or too old.
update refresh_tokens set used_at = %(now)s
where hash = %(hash)s and tenant_id = %(tenant)s and used_at is null and ended_at is null and expires_at > %(now)s
returning family, user_id, workspace_id;

-- end_reused: A refresh token came a second time: the session that descends from its login ends.
update refresh_tokens set ended_at = coalesce(ended_at, now()) where tenant_id = %(tenant)s and family in (
    select family from refresh_tokens where hash = %(hash)s and tenant_id = %(tenant)s and used_at is not null);

-- tenants: The tenant itself and those it has made.
select id, name, parent_id, created_at from tenants
where id = %(tenant)s or parent_id = %(tenant)s order by created_at, id offset %(skip)s limit %(limit)s;

-- add_tenant: A tenant below one's own.
insert into tenants (id, name, parent_id) values (%(id)s, %(name)s, %(tenant)s);

-- enter_child: The rest of this transaction acts inside a tenant that was made below one's own.
select set_config('aos.tenant', id::text, true) from tenants where id = %(id)s and parent_id = %(tenant)s;

-- workspaces: The workspaces a user belongs to.
select w.id, w.name, m.role, w.created_at from workspaces w
join memberships m on m.workspace_id = w.id and m.user_id = %(user)s
where w.tenant_id = %(tenant)s order by w.created_at, w.id offset %(skip)s limit %(limit)s;

-- add_workspace: A workspace of a tenant.
insert into workspaces (tenant_id, name) values (%(tenant)s, %(name)s) returning id, name, created_at;

-- users: Who belongs to a workspace, or with `everywhere` to the tenant; then `role` is empty for who is not in here.
select u.id, u.email, m.role, u.role as tenant_role, u.disabled, u.must_change_password, u.created_at,
    coalesce(
        (select 'scim' from scim_people p where p.user_id = u.id and p.tenant_id = u.tenant_id and p.deleted_at is null),
        (select x.provider from external_accounts x where x.user_id = u.id and x.tenant_id = u.tenant_id)) as provider
from users u
left join memberships m on m.user_id = u.id and m.workspace_id = %(workspace)s
where u.tenant_id = %(tenant)s and (%(everywhere)s or m.user_id is not null)
  and (%(part)s::text is null or position(lower(%(part)s) in u.email) > 0)
order by u.created_at, u.id offset %(skip)s limit %(limit)s;

-- count_users: How many those are.
select count(*) as total from users u
left join memberships m on m.user_id = u.id and m.workspace_id = %(workspace)s
where u.tenant_id = %(tenant)s and (%(everywhere)s or m.user_id is not null)
  and (%(part)s::text is null or position(lower(%(part)s) in u.email) > 0);

-- user: One user of the tenant, and their role in the workspace if they are in it.
select u.id, u.email, m.role, u.role as tenant_role, u.disabled, u.must_change_password, u.created_at,
    coalesce(
        (select 'scim' from scim_people p where p.user_id = u.id and p.tenant_id = u.tenant_id and p.deleted_at is null),
        (select x.provider from external_accounts x where x.user_id = u.id and x.tenant_id = u.tenant_id)) as provider
from users u
left join memberships m on m.user_id = u.id and m.workspace_id = %(workspace)s
where u.id = %(user)s and u.tenant_id = %(tenant)s;

-- disable: Whether a user may sign in at all, by hand.
update users set disabled = %(disabled)s, disabled_by = null where id = %(user)s and tenant_id = %(tenant)s;

-- reset_password: A password that its owner has to change at the next login.
update users set password_hash = %(hash)s, must_change_password = true
where id = %(user)s and tenant_id = %(tenant)s;

-- leave_workspace: A user is no longer in the workspace; what they made stays.
delete from memberships
where user_id = %(user)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s returning user_id;

-- user_by_email: A user of the own tenant.
select id from users where email = %(email)s and tenant_id = %(tenant)s;

-- add_user: A user whose first password is to be changed at the first login.
insert into users (tenant_id, email, password_hash, must_change_password, role)
values (%(tenant)s, %(email)s, %(hash)s, true, %(role)s) returning id;

-- set_tenant_role: What a user may do across the tenant, by hand: no provider changes it from now on.
update users set role = %(role)s, provider = null where id = %(user)s and tenant_id = %(tenant)s;

-- join_workspace: A user's role in a workspace, by hand: no provider changes it from now on.
insert into memberships (user_id, workspace_id, tenant_id, role)
select %(user)s, w.id, w.tenant_id, %(role)s from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s
on conflict (user_id, workspace_id) do update set role = excluded.role, provider = null;

-- keys: The API keys of a workspace that live; of one user, or of all.
select id, name, prefix, role, may_impersonate, user_id, created_at, last_used_at from api_keys
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and revoked_at is null
  and (%(user)s::uuid is null or user_id = %(user)s::uuid)
order by created_at desc, id offset %(skip)s limit %(limit)s;

-- add_key: Remember an API key by its hash.
insert into api_keys (tenant_id, workspace_id, user_id, name, prefix, hash, role, session, may_impersonate)
values (%(tenant)s, %(workspace)s, %(user)s, %(name)s, %(prefix)s, %(hash)s, %(role)s, %(session)s, %(impersonate)s)
returning id, created_at;

-- keys_of_user: A user's living API keys in all workspaces, and whether each was made in a session that is remembered.
select k.id, k.name, k.prefix, k.role, k.workspace_id, k.created_at, k.last_used_at,
    exists (select from refresh_tokens r
            where r.family = k.session and r.user_id = k.user_id and r.tenant_id = k.tenant_id) as meanwhile
from api_keys k where k.user_id = %(user)s and k.tenant_id = %(tenant)s and k.revoked_at is null
order by k.created_at desc, k.id;

-- revoke_keys: Several API keys of a user die.
update api_keys set revoked_at = now()
where id = any(%(keys)s::uuid[]) and user_id = %(user)s and tenant_id = %(tenant)s and revoked_at is null;

-- revoke_key: An API key dies; one's own, or anybody's for an administrator.
update api_keys set revoked_at = now()
where id = %(key)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and revoked_at is null
  and (%(user)s::uuid is null or user_id = %(user)s::uuid)
returning id;
