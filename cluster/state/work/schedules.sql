-- claim_next: Due schedules, in any workspace.
select id, tenant_id, workspace_id, fence from claim_schedules(%(owner)s, make_interval(secs => %(lease)s), %(most)s);

-- hold: What was claimed, if the fencing token still holds; locked for this transaction.
select id, agent_id, owner_id, role, name, cron, timezone, action, payload, due_at,
    clock_timestamp() as now
from schedules
where id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
  and due_at is not null
for update;

-- begin: The row of this due time; begun again it counts an attempt.
insert into schedule_runs as r (schedule_id, tenant_id, workspace_id, due_at)
select s.id, s.tenant_id, s.workspace_id, s.due_at from schedules s
where s.id = %(schedule)s::uuid and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s
on conflict (schedule_id, due_at) do update set attempts = r.attempts + 1
where r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
returning id, attempts, started_at;

-- heartbeat: Extend the lease; no row where it is lost.
update schedules set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
  and due_at is not null
returning false as cancel_requested;

-- end_run: How the due time ended.
update schedule_runs set status = %(status)s, error = %(error)s, run_id = %(run)s, job_id = %(job)s,
    ended_at = clock_timestamp()
where id = %(id)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- done: The due time is over. After one of the clock the next is in the future, however many were missed; one that was
-- asked for by hand takes no time of the clock away, and what was asked for meanwhile stays.
update schedules set last_at = due_at, last_status = %(status)s,
    next_at = case when next_at <= due_at then %(next)s else next_at end,
    asked_at = case when asked_at <= due_at then null else asked_at end,
    due_at = null, lease_owner = null, lease_until = null
where id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s;

-- release: Let go of a due time that was not ended; whoever looks next takes it up.
update schedules set lease_until = clock_timestamp()
where id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
  and due_at is not null;

-- add: A schedule.
insert into schedules (tenant_id, workspace_id, agent_id, owner_id, role, name, cron, timezone, action, payload, enabled,
    next_at)
values (%(tenant)s, %(workspace)s, %(agent)s, %(user)s, %(role)s, %(name)s, %(cron)s, %(timezone)s, %(action)s,
    %(payload)s, %(enabled)s, %(next)s)
returning id;

-- show: One schedule, with the names of its agent and its owner.
select s.id, s.agent_id, a.name as agent, s.owner_id, u.email as owner, s.role, s.name, s.cron, s.timezone, s.action,
    s.payload, s.enabled, s.next_at, s.asked_at, s.due_at, s.last_at, s.last_status, s.created_at, s.updated_at
from schedules s
join agents a on a.id = s.agent_id
join users u on u.id = s.owner_id
where s.id = %(schedule)s::uuid and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s;

-- list: The workspace's schedules by name.
select s.id, s.agent_id, a.name as agent, s.owner_id, u.email as owner, s.role, s.name, s.cron, s.timezone, s.action,
    s.payload, s.enabled, s.next_at, s.asked_at, s.due_at, s.last_at, s.last_status, s.created_at, s.updated_at
from schedules s
join agents a on a.id = s.agent_id
join users u on u.id = s.owner_id
where s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s
order by s.name, s.id offset %(skip)s limit %(limit)s;

-- count: How many there are.
select count(*) as total from schedules where tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- lock: A schedule that is about to be changed.
select id from schedules where id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
for update;

-- change: Other values; null stays.
update schedules set name = coalesce(%(name)s, name), cron = coalesce(%(cron)s, cron),
    timezone = coalesce(%(timezone)s, timezone), payload = coalesce(%(payload)s, payload),
    enabled = coalesce(%(enabled)s, enabled), next_at = coalesce(%(next)s, next_at), role = coalesce(%(role)s, role),
    updated_at = clock_timestamp()
where id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- ask: It is due now, beside its times; asked for again before it has begun it is due once.
update schedules set asked_at = case when asked_at is null or asked_at <= due_at then clock_timestamp() else asked_at end
where id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
returning asked_at;

-- remove: Gone, with its history; turns and reports it led to stay.
delete from schedules where id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- runs: What became of its due times, latest first.
select id, due_at, attempts, status, run_id, job_id, error, started_at, ended_at from schedule_runs
where schedule_id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
order by due_at desc offset %(skip)s limit %(limit)s;

-- count_runs: How many due times it had.
select count(*) as total from schedule_runs
where schedule_id = %(schedule)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;
