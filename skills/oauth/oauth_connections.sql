-- all: The workspace's credentials of type oauth, each with a person's own connection.
select c.id, c.name, c.extra, o.scope, o.expires_at, o.connected_at, o.settings,
       case when o.id is null then 'none' when o.sealed is null then 'ended' else 'connected' end as state
from credentials c
left join oauth_connections o
    on o.credential_id = c.id and o.workspace_id = c.workspace_id and o.user_id = %(user)s::uuid
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.type = 'oauth' and c.context_id is null
  and c.is_active
order by c.name, c.id;

-- client: As which client people connect by a credential; nothing where it is off.
select c.id, c.name, c.extra, open_credential(c.id) as sealed
from credentials c
where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s and c.id = %(credential)s::uuid
  and c.type = 'oauth' and c.context_id is null and c.is_active;

-- forget_attempts: Those that nobody has finished in time, and the person's last one by the same credential.
delete from oauth_attempts a
where a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s
  and (a.expires_at <= %(now)s or (a.user_id = %(user)s::uuid and a.credential_id = %(credential)s::uuid));

-- begin: An attempt of a person.
insert into oauth_attempts (hash, tenant_id, workspace_id, user_id, credential_id, verifier, server, settings, expires_at)
values (%(hash)s, %(tenant)s, %(workspace)s, %(user)s, %(credential)s, %(verifier)s, %(server)s, %(settings)s,
    %(expires_at)s);

-- take: The attempt that an answer belongs to, which nobody can take a second time; never somebody else's.
delete from oauth_attempts a
where a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s and a.hash = %(hash)s
  and a.user_id = %(user)s::uuid and a.credential_id = %(credential)s::uuid and a.expires_at > %(now)s
returning a.verifier, a.server, a.settings;

-- connect: A person's connection, or other tokens for it; its id is that of the row that is there.
insert into oauth_connections as o
    (id, tenant_id, workspace_id, user_id, credential_id, sealed, settings, scope, expires_at)
values (%(id)s, %(tenant)s, %(workspace)s, %(user)s, %(credential)s, %(sealed)s, %(settings)s, %(scope)s, %(expires_at)s);

-- disconnect: A person's connection is gone; what it was.
delete from oauth_connections o
where o.tenant_id = %(tenant)s and o.workspace_id = %(workspace)s and o.user_id = %(user)s::uuid
  and o.credential_id = %(credential)s::uuid
returning o.id, o.sealed, o.settings;

-- one: A person's connection.
select o.id, o.sealed, o.settings, o.expires_at
from oauth_connections o join users u on u.id = o.user_id and not u.disabled
where o.tenant_id = %(tenant)s and o.workspace_id = %(workspace)s and o.user_id = %(user)s::uuid
  and o.credential_id = %(credential)s::uuid;

-- locked: The same, for one of all replicas at a time, and whether somebody renews it: a refresh token is used once.
select o.id, o.sealed, o.settings, o.expires_at, coalesce(o.renewing_until > clock_timestamp(), false) as renewing
from oauth_connections o join users u on u.id = o.user_id and not u.disabled
where o.tenant_id = %(tenant)s and o.workspace_id = %(workspace)s and o.user_id = %(user)s::uuid
  and o.credential_id = %(credential)s::uuid
for update of o;

-- claim: Somebody renews it, for so long that they have ended or are no more.
update oauth_connections o set renewing_until = clock_timestamp() + make_interval(secs => %(seconds)s)
where o.tenant_id = %(tenant)s and o.workspace_id = %(workspace)s and o.id = %(id)s;

-- release: Nobody renews it; it stays as it is.
update oauth_connections o set renewing_until = null
where o.tenant_id = %(tenant)s and o.workspace_id = %(workspace)s and o.id = %(id)s;

-- renew: Other tokens, or none any more.
update oauth_connections o
set sealed = %(sealed)s, expires_at = %(expires_at)s, renewing_until = null, updated_at = clock_timestamp()
where o.tenant_id = %(tenant)s and o.workspace_id = %(workspace)s and o.id = %(id)s;
