-- Connections of people by OAuth: a credential of type oauth says to which service and as which client; the tokens are a person's own.
alter table credentials drop constraint credentials_type_check;
alter table credentials add constraint credentials_type_check
    check (type in ('ssh', 'http_basic', 'bearer_token', 'db_dsn', 'api_key', 'custom', 'oauth'));

-- On the way to an authorisation server: `hash` is of the state, which works once, for ten minutes, for one person. The verifier
-- redeems nothing without the code, which never comes here.
create table oauth_attempts (
    hash text primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    user_id uuid not null references users on delete cascade,
    credential_id uuid not null references credentials on delete cascade,
    verifier text not null,
    server jsonb not null,
    settings text not null,
    expires_at timestamptz not null
);

-- `sealed` is ciphertext of the tokens and of the server that gave them, null once the connection has ended; `settings` is a
-- digest of the credential's own fields: tokens go nowhere that their person has not agreed to.
create table oauth_connections (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    user_id uuid not null references users on delete cascade,
    credential_id uuid not null references credentials on delete cascade,
    sealed bytea,
    settings text not null,
    scope text not null,
    expires_at timestamptz,
    renewing_until timestamptz,
    connected_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (credential_id, user_id)
);
create index on oauth_connections (user_id);
create index on oauth_attempts (user_id);

do $$
declare
    name text;
    rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    foreach name in array array['oauth_attempts', 'oauth_connections'] loop
        execute format('create policy belongs on %I using (%s)', name, rule);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

-- Tokens are of a person in a workspace: whoever is no member any more, in whatever way, has none there.
create function forget_connections() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    delete from oauth_connections o where o.user_id = old.user_id and o.workspace_id = old.workspace_id;
    delete from oauth_attempts a where a.user_id = old.user_id and a.workspace_id = old.workspace_id;
    return null;
end $$;
create trigger connections_go_with_their_member after delete on memberships
    for each row execute function forget_connections();
