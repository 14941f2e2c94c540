-- lock_subject: Who signs in twice at once, or is unlinked meanwhile: one after the other.
select pg_advisory_xact_lock(hashtext(%(tenant)s || %(issuer)s || %(subject)s));

-- account: Whom an issuer's subject is here.
select u.id, u.disabled from external_accounts x join users u on u.id = x.user_id
where x.tenant_id = %(tenant)s and x.issuer = %(issuer)s and x.subject = %(subject)s;

-- user_by_email: Somebody of the tenant who has this address, and whether a provider may hand the account to somebody. It
-- may where the account administers nothing but what SCIM's rules have given, and is nobody's yet.
select u.id, u.disabled, (u.role <> 'admin' or u.provider = 'scim')
    and not exists (
        select from memberships m where m.user_id = u.id and m.role = 'admin' and m.provider is distinct from 'scim')
    and not exists (select from external_accounts x where x.user_id = u.id) as free
from users u where u.tenant_id = %(tenant)s and u.email = %(email)s;

-- add_user: Somebody who is here by a provider alone; nobody knows the password.
insert into users (tenant_id, email, password_hash, role, provider)
values (%(tenant)s, %(email)s, %(hash)s, 'viewer', %(provider)s) returning id;

-- link: From now on the subject is this user.
insert into external_accounts (tenant_id, issuer, subject, provider, user_id)
values (%(tenant)s, %(issuer)s, %(subject)s, %(provider)s, %(user)s);

-- drop_first_password: Who comes by a provider has no first password to change, and nobody else is to know it.
update users set password_hash = %(hash)s, must_change_password = false
where id = %(user)s and tenant_id = %(tenant)s and must_change_password;

-- touch: The moment of the last sign-in, and until when what it gives counts.
update external_accounts set signed_in_at = %(now)s, rights_end_at = %(end)s
where tenant_id = %(tenant)s and issuer = %(issuer)s and subject = %(subject)s;

-- workspaces: Workspaces of the tenant by name or id.
select id, name from workspaces where tenant_id = %(tenant)s and (name = any(%(wanted)s) or id::text = any(%(wanted)s));

-- drop_lapsed_memberships: Workspaces that the provider gave and gives no more.
delete from memberships
where user_id = %(user)s and tenant_id = %(tenant)s and provider = %(provider)s
  and workspace_id <> all(%(workspaces)s::uuid[]);

-- put_membership: A workspace that the provider gives; what was given by hand stays as it is.
insert into memberships (user_id, workspace_id, tenant_id, role, provider)
values (%(user)s, %(workspace)s, %(tenant)s, %(role)s, %(provider)s)
on conflict (user_id, workspace_id) do update set role = excluded.role
where memberships.provider = excluded.provider and memberships.role <> excluded.role;

-- any_membership: Whether somebody may enter any workspace.
select workspace_id from memberships where user_id = %(user)s and tenant_id = %(tenant)s limit 1;

-- set_tenant_role: The role in the tenant, of who is here by this provider alone.
update users set role = %(role)s
where id = %(user)s and tenant_id = %(tenant)s and provider = %(provider)s and role <> %(role)s;

-- add_groups: Groups that the provider names for the first time; a deleted one stays deleted.
insert into groups (tenant_id, name) select %(tenant)s, name from unnest(%(names)s::text[]) name
on conflict (tenant_id, name) do nothing;

-- drop_lapsed_groups: Groups that the provider gave and gives no more.
delete from group_members m using groups g
where g.id = m.group_id and m.user_id = %(user)s and m.tenant_id = %(tenant)s and m.provider = %(provider)s
  and g.name <> all(%(names)s::text[]);

-- join_groups: Groups that the provider gives.
insert into group_members (group_id, tenant_id, user_id, provider)
select g.id, g.tenant_id, %(user)s, %(provider)s from groups g
where g.tenant_id = %(tenant)s and g.name = any(%(names)s::text[]) and g.deleted_at is null
for share of g
on conflict (group_id, user_id) do nothing;

-- keep_handoff: A code for whoever can show what its challenge was made of.
insert into sign_in_handoffs (hash, tenant_id, user_id, challenge, provider, expires_at, provider_session, issued_at)
values (%(hash)s, %(tenant)s, %(user)s, %(challenge)s, %(provider)s, %(expires)s, %(session)s, %(issued)s);

-- sweep_handoffs: Codes that ran out.
delete from sign_in_handoffs where tenant_id = %(tenant)s and expires_at < %(now)s;

-- spend_handoff: The code works once, whether what is shown with it is right or not.
delete from sign_in_handoffs where hash = %(hash)s and tenant_id = %(tenant)s
returning user_id, challenge, provider, expires_at, provider_session, issued_at;

-- follow: A login that ends with the provider's session that it came from, or with the link to the provider; none where
-- they are linked no more.
insert into provider_sessions (family, tenant_id, user_id, issuer, session, began_at)
select %(family)s, x.tenant_id, x.user_id, x.issuer, %(session)s, %(now)s from external_accounts x
where x.tenant_id = %(tenant)s and x.user_id = %(user)s and x.issuer = %(issuer)s
for share of x;

-- note_logout: A provider's word that somebody has signed out there, for sign-ins on their way.
insert into provider_logouts (tenant_id, issuer, session, subject, made_at, told_at)
values (%(tenant)s, %(issuer)s, %(session)s, %(subject)s, %(made)s, %(now)s);

-- sweep_logouts: Words from before any sign-in that is still on its way.
delete from provider_logouts where tenant_id = %(tenant)s and told_at < %(now)s - interval '1 hour';

-- wait_for_sign_ins: Until every sign-in that has not seen the word is kept or followed.
select pg_advisory_xact_lock(hashtextextended('aos.provider_logout.' || %(tenant)s || %(issuer)s, 0));

-- be_waited_for: Whoever tells of a sign-out waits until this sign-in is kept or followed.
select pg_advisory_xact_lock_shared(hashtextextended('aos.provider_logout.' || %(tenant)s || %(issuer)s, 0));

-- logged_out: Whether the provider has said that a session has ended, since it gave the ID token of a sign-in by it.
select l.made_at from provider_logouts l
where l.tenant_id = %(tenant)s and l.issuer = %(issuer)s and l.made_at >= %(issued)s
  and (l.session = '' or l.session = %(session)s)
  and (l.subject = '' or exists (
      select from external_accounts x where x.tenant_id = l.tenant_id and x.user_id = %(user)s
        and x.issuer = l.issuer and x.subject = l.subject))
limit 1;

-- sweep_followed: Logins of which no token is left.
delete from provider_sessions p where p.tenant_id = %(tenant)s and p.user_id = %(user)s
  and not exists (select from refresh_tokens r where r.family = p.family and r.tenant_id = p.tenant_id);

-- lock_meant: Who renews a session that is meant, and who ends it, wait for each other.
select u.id from users u where u.tenant_id = %(tenant)s and u.id in (
    select p.user_id from provider_sessions p
    where p.tenant_id = %(tenant)s and p.issuer = %(issuer)s and p.began_at <= %(at)s
      and (%(session)s = '' or p.session = %(session)s))
order by u.id for no key update;

-- drop_handoffs: Sign-ins on their way that are meant: nobody redeems them.
delete from sign_in_handoffs h
where h.tenant_id = %(tenant)s and h.provider = %(provider)s
  and (%(session)s = '' or h.provider_session = %(session)s)
  and (%(subject)s = '' or exists (
      select from external_accounts x where x.tenant_id = h.tenant_id and x.user_id = h.user_id
        and x.issuer = %(issuer)s and x.subject = %(subject)s));

-- log_out: End the logins of a provider's session, or of all of its subject's; one that began later is not meant.
with meant as (
    select p.family from provider_sessions p
    where p.tenant_id = %(tenant)s and p.issuer = %(issuer)s and p.began_at <= %(at)s
      and (%(session)s = '' or p.session = %(session)s)
      and (%(subject)s = '' or exists (
          select from external_accounts x where x.tenant_id = p.tenant_id and x.user_id = p.user_id
            and x.issuer = p.issuer and x.subject = %(subject)s))
), ended as (
    update refresh_tokens r set ended_at = now()
    where r.tenant_id = %(tenant)s and r.ended_at is null and r.family in (select family from meant)
    returning r.user_id
)
select distinct user_id from ended;

-- kept_membership: Whether somebody may enter a workspace by something else than this provider.
select workspace_id from memberships
where user_id = %(user)s and tenant_id = %(tenant)s and provider is distinct from %(provider)s limit 1;
