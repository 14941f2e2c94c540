-- What operators change and look at: settings as rows with a version, restarts that are asked for, figures.

-- The first tenant has no parent: its administrators run the whole system, those of the tenants below do not.
create function aos_is_first_tenant() returns boolean language sql stable
    as $$ select exists (select from tenants where id = aos_tenant() and parent_id is null) $$;

-- Settings: read by every program of ours, written by the first tenant alone; beside them stands each workspace's own
-- default connection, which nobody else sees.
alter table system_settings enable row level security;
alter table system_settings force row level security;
create policy reads on system_settings for select using (
    key not like 'default_llm_connection_id:%' or key = 'default_llm_connection_id:' || aos_workspace()::text);
create policy adds on system_settings for insert with check (
    key = 'default_llm_connection_id:' || aos_workspace()::text
    or (key not like 'default_llm_connection_id:%' and (select aos_is_first_tenant())));
create policy changes on system_settings for update using (
    key = 'default_llm_connection_id:' || aos_workspace()::text
    or (key not like 'default_llm_connection_id:%' and (select aos_is_first_tenant())));
create policy removes on system_settings for delete using (
    key = 'default_llm_connection_id:' || aos_workspace()::text
    or (key not like 'default_llm_connection_id:%' and (select aos_is_first_tenant())));

-- One row; it grows with every change of the settings, whoever makes it, so that programs see by one number that
-- there is something new.
create table settings_version (
    one boolean primary key default true check (one),
    version bigint not null
);
insert into settings_version (version) values (1);
create function settings_changed() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update settings_version set version = version + 1;
    return null;
end $$;
create trigger settings_have_a_version after insert or update or delete on system_settings
    for each statement execute function settings_changed();
grant select on settings_version to aos_app;
revoke insert, update, delete on settings_version from aos_app;

-- What a change of settings still waits for, by part; programs, which act for no tenant, take it away.
create table restart_needs (
    part text primary key,
    keys text[] not null,
    since timestamptz not null default clock_timestamp()
);
-- Restarts that somebody asked for. The greatest number of a part's is what its applications are deployed with.
create table restarts (
    id bigint generated always as identity primary key,
    parts text[] not null check (cardinality(parts) > 0),
    asked_by uuid,
    asked_at timestamptz not null default clock_timestamp(),
    taken_at timestamptz,
    done_at timestamptz,
    error text
);
do $$
declare name text;
begin
    foreach name in array array['restart_needs', 'restarts'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy belongs on %I using (aos_tenant() is null or (select aos_is_first_tenant()))', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

-- Figures of the whole system: counts only, nothing that says whose.
create function lane_load() returns table (lane text, waiting bigint, running bigint, oldest_seconds double precision)
language sql stable security definer set search_path = public, pg_temp as $$
    select j.lane, count(*) filter (where j.state = 'queued'), count(*) filter (where j.state = 'running'),
           coalesce(extract(epoch from clock_timestamp() - min(j.created_at) filter (where j.state = 'queued')), 0)
    from jobs j where j.state in ('queued', 'running') group by j.lane
$$;

create function system_counts() returns table (figure text, label text, value double precision)
language sql stable security definer set search_path = public, pg_temp as $$
    select 'jobs', kind || ' ' || state, count(*) from jobs group by kind, state
    union all select 'units', stage || ' done', sum(done) from job_progress group by stage
    union all select 'units', stage || ' failed', sum(failed) from job_progress group by stage
    union all select 'pages', engine, count(*) from pages group by engine
    union all select 'page_failures', failure->>'reason', count(*) from pages where failure is not null group by failure->>'reason'
    union all select 'runs', state, count(*) from runs group by state
    union all select 'approvals_pending', '', count(*) from approvals where state = 'pending'
    union all select 'documents', status, count(*) from documents group by status
    union all select 'spent_usd', '', coalesce(sum(cost_usd), 0) from spend where month = date_trunc('month', now())::date
$$;
revoke execute on function lane_load(), system_counts() from public;
grant execute on function lane_load(), system_counts() to aos_app;
create index pages_by_engine on pages (engine);
create index pages_by_failure on pages ((failure->>'reason')) where failure is not null;
create index runs_by_state on runs (state);
create index jobs_by_kind on jobs (kind, state);
create index documents_by_status on documents (status);

-- What an operator asks of the last day, and of the trail.
create index pages_read_lately on pages using brin (read_at);
create index units_failed_lately on units (workspace_id, settled_at) where status = 'failed';
create index audit_by_time on audit (tenant_id, at);
create index audit_by_actor on audit (tenant_id, actor, seq);
create index audit_by_action on audit (tenant_id, action, seq);
