-- links: The sources that somebody comes from, each with what it has given them.
select s.provider, s.issuer, s.subject, s.linked_at, s.signed_in_at, s.rights_end_at,
    case when u.provider = s.provider then u.role end as tenant_role,
    array(select w.name from memberships m join workspaces w on w.id = m.workspace_id and w.tenant_id = m.tenant_id
          where m.user_id = u.id and m.tenant_id = u.tenant_id and m.provider = s.provider order by w.name) as workspaces,
    array(select g.name from group_members b join groups g on g.id = b.group_id and g.deleted_at is null
          where b.user_id = u.id and b.tenant_id = u.tenant_id and b.provider = s.provider order by g.name) as groups
from users u join (
    select x.user_id, x.tenant_id, x.provider, x.issuer, x.subject, x.created_at as linked_at, x.signed_in_at,
        x.rights_end_at
    from external_accounts x where x.tenant_id = %(tenant)s
    union all
    select p.user_id, p.tenant_id, 'scim', null, coalesce(p.external_id, p.user_name, ''), null, null, null
    from scim_people p where p.tenant_id = %(tenant)s and p.deleted_at is null
) s on s.user_id = u.id and s.tenant_id = u.tenant_id
where u.id = %(user)s and u.tenant_id = %(tenant)s order by s.provider;

-- lock_user: Their rights are changed by one at a time.
select id from users where id = %(user)s and tenant_id = %(tenant)s for no key update;

-- drop_link: The subject is this user no more.
delete from external_accounts where tenant_id = %(tenant)s and user_id = %(user)s and provider = %(provider)s;

-- drop_provisioned: Nothing of what SCIM said of somebody is kept.
update scim_people set user_name = null, external_id = null, attributes = null, updated_at = now(), deleted_at = now()
where tenant_id = %(tenant)s and user_id = %(user)s and deleted_at is null;

-- drop_handoffs: Sign-ins on their way: nobody redeems them.
delete from sign_in_handoffs where tenant_id = %(tenant)s and user_id = %(user)s and provider = %(provider)s;

-- drop_memberships: Workspaces that the source gave.
delete from memberships where tenant_id = %(tenant)s and user_id = %(user)s and provider = %(provider)s;

-- drop_groups: Groups that the source gave.
delete from group_members where tenant_id = %(tenant)s and user_id = %(user)s and provider = %(provider)s;

-- drop_tenant_role: The role in the tenant that the source gave.
update users set role = 'viewer', provider = null
where id = %(user)s and tenant_id = %(tenant)s and provider = %(provider)s;

-- families: The logins that came of the source, and are followed.
select family from provider_sessions
where tenant_id = %(tenant)s and user_id = %(user)s and issuer = %(issuer)s;

-- end_sessions: Those logins end, access tokens included.
update refresh_tokens set ended_at = now()
where tenant_id = %(tenant)s and user_id = %(user)s and ended_at is null and family = any(%(families)s::uuid[])
returning family;

-- revoke_keys: API keys that were made in them die.
update api_keys set revoked_at = now()
where tenant_id = %(tenant)s and user_id = %(user)s and revoked_at is null and session = any(%(families)s::uuid[])
returning id, name, prefix, role, workspace_id, created_at, last_used_at;

-- unfollow: Nothing of those logins is remembered but that they have ended.
delete from provider_sessions
where tenant_id = %(tenant)s and user_id = %(user)s and family = any(%(families)s::uuid[]);
