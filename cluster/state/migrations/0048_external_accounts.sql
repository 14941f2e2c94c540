-- People who sign in by a provider: whom an issuer's `subject` is here, one for each of us, and what the provider has given and takes away again.
-- Memberships, groups and roles without a provider were given by hand, and no provider changes them.
create table external_accounts (
    tenant_id uuid not null references tenants on delete cascade,
    issuer text not null,
    subject text not null,
    provider text not null,
    user_id uuid not null references users on delete cascade unique,
    created_at timestamptz not null default now(),
    signed_in_at timestamptz not null default now(),
    primary key (tenant_id, issuer, subject)
);
alter table users add column provider text;
alter table memberships add column provider text;
alter table group_members add column provider text;

-- A sign-in on its way from the provider's answer to whoever asked for it: a code that works once, for a minute.
create table sign_in_handoffs (
    hash text primary key,
    tenant_id uuid not null references tenants on delete cascade,
    user_id uuid not null references users on delete cascade,
    challenge text not null,
    provider text not null,
    expires_at timestamptz not null
);

do $$
declare
    name text;
begin
    foreach name in array array['external_accounts', 'sign_in_handoffs'] loop
        execute format('create policy belongs on %I using (tenant_id = (select aos_tenant()))', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;
