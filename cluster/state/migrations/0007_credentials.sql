-- Credentials of skills: what is secret is sealed, and who may use them is written beside it.

-- `sealed` is ciphertext (AES-256-GCM envelope, see cluster/state/vault.py) of a JSON object; `fields` are the names in
-- it. `bound`: only calls that a binding fits may use it; it stays when the last binding goes with its agent, or what
-- was kept for one agent would be open to all. With a `context_id` it is of one conversation only, and ends with it.
create table credentials (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    name text not null check (name <> ''),
    type text not null check (type in ('ssh', 'http_basic', 'bearer_token', 'db_dsn', 'api_key', 'custom')),
    sealed bytea not null,
    fields text[] not null,
    extra jsonb not null default '{}',
    is_active boolean not null default true,
    bound boolean not null default false,
    context_id uuid references sessions on delete cascade,
    expires_at timestamptz,
    created_by uuid,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
-- A conversation may have its own of a name that the workspace has too.
create unique index credentials_by_name on credentials (workspace_id, name) where context_id is null;
create unique index credentials_of_context on credentials (context_id, name) where context_id is not null;

-- Who may use a credential: a call that is of this agent, of this skill and made with this role, where each is given.
create table credential_bindings (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    credential_id uuid not null references credentials on delete cascade,
    agent_id uuid references agents on delete cascade,
    skill text check (skill <> ''),
    role text check (role in ('viewer', 'developer', 'operator', 'admin')),
    created_by uuid,
    created_at timestamptz not null default now(),
    check (agent_id is not null or skill is not null or role is not null)
);
create unique index credential_bindings_once on credential_bindings
    (credential_id, coalesce(agent_id::text, ''), coalesce(skill, ''), coalesce(role, ''));
create index on credential_bindings (agent_id) where agent_id is not null;

-- The envelope, for one call; the application's role cannot read it in any other way.
create function open_credential(c_id uuid) returns bytea
language sql stable security definer set search_path = public, pg_temp as $$
    select sealed from credentials
    where id = c_id and tenant_id = aos_tenant() and workspace_id = aos_workspace() and is_active
      and (expires_at is null or expires_at > clock_timestamp())
$$;
revoke execute on function open_credential(uuid) from public;
grant execute on function open_credential(uuid) to aos_app;

do $$
declare
    name text;
    rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    foreach name in array array['credentials', 'credential_bindings']
    loop
        execute format('create policy belongs on %I using (%s)', name, rule);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant insert, update, delete on %I to aos_app', name);
    end loop;
end $$;
grant select on credential_bindings to aos_app;
grant select (id, tenant_id, workspace_id, name, type, fields, extra, is_active, bound, context_id, expires_at, created_by,
    created_at, updated_at) on credentials to aos_app;
