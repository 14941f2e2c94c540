-- Lane shares: a lane is shared by tenants, then by their workspaces, then by age; one tenant has no more than its share of
-- the places while another has work there.

-- Counters of the round robin over the workspaces of a tenant, as tenant_turns are over tenants.
create table workspace_turns (
    workspace_id uuid not null references workspaces on delete cascade,
    lane text not null,
    served bigint not null default 0,
    primary key (workspace_id, lane)
);
alter table workspace_turns enable row level security;
alter table workspace_turns force row level security;

-- The tenants that have their share of the lane's places. A place is a worker that was seen lately; half of those of the
-- small lane fill the cores. While tenants meet there, who has an equal part of that half gets more only as long as cores
-- are left over: whoever has one upload shares no core. In other lanes half of the places are the share. A job at rest is
-- none, nor is one at work whose lease has run out. One scan, without a join: a claim must not wait for those that wait.
create function full_tenants(of_lane text) returns uuid[]
language sql stable security definer set search_path = public, pg_temp as $$
    with tenants_here as (
        select tenant_id, count(*) filter (where at_work) as at_work, count(*) over () as tenants,
               sum(count(*) filter (where at_work)) over () as all_at_work
        from (select tenant_id, state = 'running' and lease_until >= clock_timestamp() as at_work from jobs
              where lane = of_lane and state in ('queued', 'running')
                and (state = 'running' or resume_at is null or resume_at <= clock_timestamp())) open_jobs
        group by tenant_id
    ), places as (
        select count(*) as count, (count(*) + 1) / 2 as half from lane_workers
        where lane = of_lane and seen_at > clock_timestamp() - interval '1 min'
    )
    select coalesce(array_agg(h.tenant_id) filter (where p.count > 1 and h.tenants > 1 and case when of_lane = 'small'
               then h.all_at_work >= p.half and h.at_work >= greatest(1, p.half / h.tenants) else h.at_work >= p.half end),
           '{}')
    from tenants_here h cross join places p
$$;
revoke execute on function full_tenants(text) from public;

-- What a job that is to be taken next stands behind, and whether its tenant has its share already. No job is in here that
-- rests; those whose lease has run out wait again.
create function lane_standing(of_lane text)
returns table (job_id uuid, tenant_served bigint, workspace_served bigint, placed timestamptz, has_share boolean)
language sql stable security definer set search_path = public, pg_temp as $$
    select j.id, coalesce(t.served, 0), coalesce(w.served, 0), coalesce(j.yielded_at, j.created_at),
           j.tenant_id = any((select full_tenants(of_lane))::uuid[])
    from jobs j
    left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = of_lane
    left join workspace_turns w on w.workspace_id = j.workspace_id and w.lane = of_lane
    where j.lane = of_lane
      and ((j.state = 'queued' and (j.resume_at is null or j.resume_at <= clock_timestamp()))
           or (j.state = 'running' and j.lease_until < clock_timestamp()))
$$;
revoke execute on function lane_standing(text) from public;

create or replace function claim_job(claim_lane text, claim_owner text, lease interval)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare full_now uuid[];
begin
    -- A job that ends its worker each time must not end every worker that there is.
    update jobs set state = 'failed', finished_at = clock_timestamp(), owner = null, lease_until = null,
        error = format('its worker ended %s times before a turn was done; resume it once the cause is mended', lapses)
    where lane = claim_lane and state = 'running' and lease_until < clock_timestamp() and lapses >= 8;
    full_now := full_tenants(claim_lane);
    return query
    with next as (
        select j.id from jobs j
        left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = j.lane
        left join workspace_turns w on w.workspace_id = j.workspace_id and w.lane = j.lane
        where j.lane = claim_lane and j.tenant_id <> all(full_now)
          and ((j.state = 'queued' and (j.resume_at is null or j.resume_at <= clock_timestamp()))
               or (j.state = 'running' and j.lease_until < clock_timestamp()))
        order by coalesce(t.served, 0), coalesce(w.served, 0), coalesce(j.yielded_at, j.created_at), j.id
        for update of j skip locked
        limit 1
    )
    update jobs j
    set state = 'running', owner = claim_owner, fence = j.fence + 1, lease_until = clock_timestamp() + lease,
        attempts = j.attempts + (j.yielded_at is null)::int, lapses = j.lapses + (j.state = 'running')::int,
        started_at = coalesce(j.started_at, clock_timestamp()), yielded_at = null, resume_at = null
    from next where j.id = next.id
    returning j.id, j.tenant_id, j.workspace_id, j.fence;
end $$;

-- As record_turn of a tenant alone, which the version before this one calls. Who was deleted meanwhile has no more turns:
-- a row for them would be refused, and that would end the worker.
create function record_turn(turn_tenant uuid, turn_workspace uuid, turn_lane text, units bigint) returns void
language sql security definer set search_path = public, pg_temp as $$
    select record_turn(turn_tenant, turn_lane, units)
    from (select id from tenants where id = turn_tenant for key share) there;
    insert into workspace_turns as mine (workspace_id, lane, served)
    select there.id, turn_lane, greatest(units, waiting.least)
    from (select id from workspaces where id = turn_workspace for key share) there, (select coalesce(min(t.served), 0) as least from workspace_turns t
          where t.lane = turn_lane and t.workspace_id <> turn_workspace and exists (
              select 1 from jobs j
              where j.workspace_id = t.workspace_id and j.tenant_id = turn_tenant and j.lane = t.lane
                and j.state in ('queued', 'running'))) waiting
    on conflict (workspace_id, lane) do update set served = greatest(mine.served + units, excluded.served);
$$;

-- Whether a worker should end its turn for another workspace, of whatever tenant: says only that somebody waits.
create function workspaces_wait(waiting_lane text, but_workspace uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
    select exists (select 1 from jobs where lane = waiting_lane and workspace_id <> but_workspace
                   and ((state = 'queued' and (resume_at is null or resume_at <= clock_timestamp()))
                        or (state = 'running' and lease_until < clock_timestamp())))
$$;

-- A job at rest stands before no other. Of other tenants only how many; by their ids jobs of one's own workspace alone.
-- What keeps workers that are free says why a queued job is not taken; what those at work say counts where none is free.
drop function job_places(uuid[], interval);
create function job_places(asked uuid[], fresh interval)
returns table (id uuid, state text, kind text, since double precision, told text, ahead bigint, others bigint,
               running bigint, workers bigint, waits_for text, foreign_running bigint, has_share boolean, behind uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    with mine as (
        select j.* from jobs j
        where j.id = any(asked) and j.tenant_id = (select aos_tenant()) and j.state in ('queued', 'running')
    ), standing as (
        select s.*, j.lane, j.tenant_id, j.workspace_id
        from (select distinct lane from mine) l cross join lateral lane_standing(l.lane) s
        join jobs j on j.id = s.job_id where j.state = 'queued'
    ), at_work as (
        select lane, tenant_id, owner from jobs where state = 'running'
    ), seen as (
        select * from lane_workers where seen_at > clock_timestamp() - fresh
    )
    select m.id, m.state, m.kind,
        extract(epoch from clock_timestamp() - coalesce(m.yielded_at, m.created_at))::float, m.waiting,
        (select count(*) from standing o where o.lane = m.lane and o.tenant_id = m.tenant_id
           and (o.workspace_served, o.placed, o.job_id) < own.place),
        (select count(*) from standing o where o.lane = m.lane and o.tenant_id <> m.tenant_id and not o.has_share
           and (o.tenant_served, o.placed, o.job_id) < (own.tenant_served, own.placed, m.id)),
        (select count(*) from at_work o where o.lane = m.lane),
        (select count(*) from seen w where w.lane = m.lane),
        (select w.waits_for from seen w where w.lane = m.lane and (m.state = 'queued' or w.owner = m.owner)
         order by exists (select from at_work o where o.lane = w.lane and o.owner = w.owner),
                  (w.waits_for is null) desc, w.seen_at desc limit 1),
        (select count(*) from at_work o where o.lane = m.lane and o.tenant_id <> m.tenant_id),
        coalesce((select s.has_share from standing s where s.job_id = m.id), false),
        (select o.job_id from standing o where o.lane = m.lane and o.workspace_id = m.workspace_id
           and (o.workspace_served, o.placed, o.job_id) < own.place
         order by o.workspace_served desc, o.placed desc, o.job_id desc limit 1)
    from mine m
    left join tenant_turns t on t.tenant_id = m.tenant_id and t.lane = m.lane
    left join workspace_turns ws on ws.workspace_id = m.workspace_id and ws.lane = m.lane
    cross join lateral (
        select coalesce(t.served, 0) as tenant_served, coalesce(m.yielded_at, m.created_at) as placed,
               row(coalesce(ws.served, 0), coalesce(m.yielded_at, m.created_at), m.id) as place
    ) own
$$;
revoke execute on function record_turn(uuid, uuid, text, bigint), workspaces_wait(text, uuid), job_places(uuid[], interval)
    from public;
grant execute on function record_turn(uuid, uuid, text, bigint), workspaces_wait(text, uuid), job_places(uuid[], interval)
    to aos_app;
revoke all on workspace_turns from aos_app;
