-- What people think of answers: one thumb for each person and run, with a word if they like. It goes with its run.
create table run_feedback (
    run_id uuid not null references runs on delete cascade,
    user_id uuid not null,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    thumb text not null check (thumb in ('up', 'down')),
    word text not null default '' check (length(word) <= 2000),
    at timestamptz not null default clock_timestamp(),
    primary key (run_id, user_id)
);
create index on run_feedback (workspace_id, at desc);

alter table run_feedback enable row level security;
alter table run_feedback force row level security;
create policy belongs on run_feedback
    using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
grant select, insert, update, delete on run_feedback to aos_app;
