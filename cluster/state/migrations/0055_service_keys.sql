-- API keys of front ends that act for their people, and provider sign-ins that end when the provider says so or too long ago.
alter table api_keys add column may_impersonate boolean not null default false;

-- Until when what a provider has given counts; null where it counts until it is taken away.
alter table external_accounts add column rights_end_at timestamptz;

-- The provider's name for the session in which somebody signed in: it ends the logins that descend from it.
alter table sign_in_handoffs add column provider_session text;
create table provider_sessions (
    family uuid primary key,
    tenant_id uuid not null references tenants on delete cascade,
    user_id uuid not null references users on delete cascade,
    issuer text not null,
    session text not null,
    began_at timestamptz not null default now()
);
create index on provider_sessions (tenant_id, issuer, session);

create policy belongs on provider_sessions using (tenant_id = (select aos_tenant()));
alter table provider_sessions enable row level security;
alter table provider_sessions force row level security;
grant select, insert, update, delete on provider_sessions to aos_app;
