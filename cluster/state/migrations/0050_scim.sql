-- People and groups whom an identity provider provisions by SCIM 2.0 (RFC 7643): what it calls them, beside what they are
-- here. Somebody without a row was never changed by it. Who was deleted by it is disabled, and hidden from it until an
-- administrator lets them in again.
create table scim_people (
    user_id uuid primary key references users on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    user_name text,
    external_id text,
    attributes jsonb,
    updated_at timestamptz not null default now(),
    deleted_at timestamptz
);
create unique index on scim_people (tenant_id, lower(user_name));

create policy belongs on scim_people using (tenant_id = (select aos_tenant()));
alter table scim_people enable row level security;
alter table scim_people force row level security;
grant select, insert, update, delete on scim_people to aos_app;

-- Who has disabled an account: `scim`, or an administrator by hand, whose word SCIM does not take back.
alter table users add column disabled_by text;

-- `name` is what documents and rules call a group, and stays; `display_name` is what the provider calls it today.
alter table groups add column provider text;
alter table groups add column display_name text;
alter table groups add column external_id text;
alter table groups add column updated_at timestamptz;
