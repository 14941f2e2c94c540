-- role: Whether this role sees all tenants and repairs alone, whether the schema is an older one, and the first tenant.
select r.rolsuper or r.rolbypassrls as sees, not %(apply)s or pg_try_advisory_lock(%(lock)s) as alone,
       to_regclass('workspace_turns') is null as behind,
       (select t.id::text from tenants t order by t.parent_id is not null, t.created_at, t.id limit 1) as first_tenant
from pg_roles r where r.rolname = current_user;

-- tenant: One, if it is there.
select t.id from tenants t where t.id = %(tenant)s::uuid;

-- enter: Whose trail is written from here on, and how long live work is waited for.
select set_config('aos.tenant', %(tenant)s, true), set_config('aos.workspace', %(workspace)s, true),
       set_config('aos.principals', '{"*"}', true), set_config('lock_timeout', %(seconds)s, true);

-- hold_corpus: As whoever changes what a workspace finds.
select w.id from workspaces w where w.id = %(workspace)s::uuid for no key update;

-- changed: What was remembered of searches is old now.
update workspaces w set corpus_version = w.corpus_version + 1 where w.id = %(workspace)s::uuid;

-- record: A line of the trail of the transaction's tenant.
select append_audit(%(actor)s, %(action)s, %(object)s, 'done', %(detail)s);
