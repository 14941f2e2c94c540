-- What runs by the clock, and how agents are examined.

-- `next_at` is the next due time by `cron` in `timezone`, `asked_at` one that a person asked for. `due_at` is the due
-- time that is being carried out: it stays over the death of its owner, so that it is neither lost nor done twice, and
-- `fence` refuses whoever was thought dead. `role` is a ceiling: that of the key or person that wrote the row last.
create table schedules (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    agent_id uuid not null references agents on delete cascade,
    owner_id uuid not null references users on delete cascade,
    role text not null check (role in ('viewer', 'developer', 'operator', 'admin')),
    name text not null check (name <> ''),
    cron text not null check (cron <> ''),
    timezone text not null default 'UTC',
    action text not null check (action in ('message', 'academy')),
    payload jsonb not null default '{}',
    enabled boolean not null default true,
    next_at timestamptz not null,
    asked_at timestamptz,
    due_at timestamptz,
    last_at timestamptz,
    last_status text,
    lease_owner text,
    fence bigint not null default 0,
    lease_until timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    unique (workspace_id, name)
);
create index schedules_due on schedules (next_at) where enabled;
create index schedules_asked on schedules (asked_at) where asked_at is not null;
create index schedules_begun on schedules (lease_until) where due_at is not null;
create index on schedules (agent_id);

-- One row a due time. A message's row and the turn that answers it have the same id: begun twice, it is stored once.
create table schedule_runs (
    id uuid primary key default gen_random_uuid(),
    schedule_id uuid not null references schedules on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    due_at timestamptz not null,
    attempts int not null default 1,
    status text not null default 'running'
        check (status in ('running', 'completed', 'failed', 'waiting', 'cancelled', 'timeout', 'refused')),
    run_id uuid,
    job_id uuid,
    error text,
    started_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    unique (schedule_id, due_at)
);

-- Due schedules, as ids: the third of the functions that look across tenants to find work. A due time whose owner died
-- comes first and stays the same; a time that was missed many times over is one due time. All replicas together carry
-- `c_most` at a time, first for the tenants that have fewest.
create function claim_schedules(c_owner text, c_lease interval, c_most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
    now_at timestamptz;
    room int;
begin
    perform pg_advisory_xact_lock(hashtext('aos.schedules'));
    now_at := clock_timestamp();  -- after the wait for the lock
    select c_most - count(*) into room from schedules s where s.due_at is not null and s.lease_until >= now_at;
    if room <= 0 then return; end if;
    return query
    with ready as (
        select s.id, s.tenant_id,
               coalesce(s.due_at, least(s.asked_at, case when s.enabled and s.next_at <= now_at then s.next_at end)) as due,
               s.due_at is not null as begun
        from schedules s
        where (s.due_at is not null and s.lease_until < now_at)
           or (s.due_at is null and (s.asked_at is not null or (s.enabled and s.next_at <= now_at)))
    ), ranked as (
        select r.id, r.due, r.begun,
               row_number() over (partition by r.tenant_id order by r.begun desc, r.due, r.id)
               + (select count(*) from schedules b where b.tenant_id = r.tenant_id and b.due_at is not null
                  and b.lease_until >= now_at) as turn
        from ready r
    ), chosen as (
        select k.id, k.due from ranked k join schedules s on s.id = k.id
        order by k.turn, k.begun desc, k.due, k.id
        for update of s skip locked
        limit room
    )
    update schedules s
    set due_at = c.due, lease_owner = c_owner, fence = s.fence + 1, lease_until = now_at + c_lease
    from chosen c where s.id = c.id
    returning s.id, s.tenant_id, s.workspace_id, s.fence;
end $$;
revoke execute on function claim_schedules(text, interval, int) from public;
grant execute on function claim_schedules(text, interval, int) to aos_app;

-- Who studies what: the quiz is kept as it was when the agent enrolled, so that a report can be read against it.
create table academy_enrolments (
    agent_id uuid primary key references agents on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    track text not null check (track in ('presales', 'finance', 'infrastructure', 'legal', 'integration')),
    quiz jsonb not null,
    own_quiz boolean not null,
    jobs uuid[] not null default '{}',
    enrolled_by uuid,
    enrolled_at timestamptz not null default clock_timestamp()
);

-- `due` is the row of schedule_runs that asked for it: a report that was interrupted is not written twice.
create table academy_reports (
    id uuid primary key default gen_random_uuid(),
    agent_id uuid not null references agents on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    track text not null,
    score real not null check (score between 0 and 1),
    pass_mark real not null,
    passed boolean not null,
    status text not null check (status in ('enrolled', 'studying', 'graduated', 'demoted')),
    report jsonb not null,
    due uuid unique,
    asked_by uuid,
    at timestamptz not null default clock_timestamp()
);
create index on academy_reports (agent_id, at desc);

do $$
declare
    name text;
    rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    foreach name in array array['schedules', 'schedule_runs', 'academy_enrolments', 'academy_reports']
    loop
        execute format('create policy belongs on %I using (%s)', name, rule);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;
