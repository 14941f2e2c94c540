-- Personal data in the journals of runs: a masked run's rows hold placeholders such as `[EMAIL 1]`, and what stands for
-- each is sealed here. It goes with its run.
alter table runs add column masked boolean not null default false;
create table run_secrets (
    id uuid primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    run_id uuid not null references runs on delete cascade,
    label text not null,
    sealed bytea not null,
    created_at timestamptz not null default clock_timestamp(),
    unique (run_id, label)
);

-- Finds of personal data on a page by kind; null where no policy wanted them counted when it was read.
alter table pages add column personal_data jsonb;

-- Policies of a tenant, or of one of its workspaces. A change is another version, and the last one counts; one that is
-- taken away is a version too, which is no longer active.
create table governance_policies (
    id uuid not null,
    version int not null check (version >= 1),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid references workspaces on delete cascade,
    name text not null check (char_length(name) between 1 and 100),
    body jsonb not null,
    active boolean not null,
    created_by uuid,
    created_at timestamptz not null default clock_timestamp(),
    primary key (id, version)
);
create index governance_policies_of on governance_policies (tenant_id, workspace_id);

do $$
declare
    belongs text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
    reaches text := 'tenant_id = (select aos_tenant()) and (workspace_id is null or workspace_id = (select aos_workspace()))';
begin
    execute format('create policy belongs on run_secrets using (%s)', belongs);
    alter table run_secrets enable row level security;
    alter table run_secrets force row level security;
    grant select, insert, delete on run_secrets to aos_app;
    execute format('create policy belongs on governance_policies using (%s)', reaches);
    alter table governance_policies enable row level security;
    alter table governance_policies force row level security;
    -- No update and no delete: nothing about a policy changes silently.
    grant select, insert on governance_policies to aos_app;
end $$;
