-- Partitions: a large job is worked at by several workers, each under a lease of its own. A unit belongs to the partition in
-- which it was planned, or to that of the file which brought it; the job's own lease is kept by whoever has a partition.
-- Held locks: jobs SHARE ROW EXCLUSIVE, moment; units ACCESS EXCLUSIVE, 80 s/GiB.
-- Old code: runs beside it.
-- It is given no job that has partitions: it would take units of all of them.

alter table units add column partition int not null default 0;
drop index units_pending;
create index units_pending on units (job_id, partition, stage, position) where status = 'pending';

-- None where a job is worked at by one worker at a time.
create table job_partitions (
    job_id uuid not null references jobs on delete cascade,
    number int not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    open boolean not null default true, -- whether anything was left to do when somebody gave it back the last time
    owner text, -- null where nobody works at it
    fence bigint not null default 0,
    lease_until timestamptz,
    lapses int not null default 0, -- how many workers in a row have died at it
    primary key (job_id, number)
);
create policy belongs on job_partitions
    using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
alter table job_partitions enable row level security;
alter table job_partitions force row level security;
grant select, insert, update on job_partitions to aos_app;

-- As 0109 has it; those with partitions only to who knows of them.
create function claim_job(claim_lane text, claim_owner text, lease interval, partitioned boolean)
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
          and (partitioned or not exists (select from job_partitions p where p.job_id = j.id))
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
create or replace function claim_job(claim_lane text, claim_owner text, lease interval)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language sql security definer set search_path = public, pg_temp as $$
    select * from claim_job(claim_lane, claim_owner, lease, false)
$$;

-- Take a partition with something left to do, of one job, or of any in the lane that others work at: by round robin over
-- tenants, then workspaces, as whole jobs are. Once a job is to be cancelled nobody begins with another part of it. What
-- has ended two workers comes last; what has ended eight in a row ends the job.
create function claim_partition(claim_lane text, claim_owner text, lease interval, of_job uuid)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint, partition int, token bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
    found_job record;
    free_one int;
begin
    update jobs j set cancel_requested = true, payload = j.payload || jsonb_build_object('failing', format(
        'its worker ended %s times before a turn was done; resume it once the cause is mended', p.lapses))
    from job_partitions p
    where p.job_id = j.id and p.lapses >= 8 and p.lease_until < clock_timestamp()
      and j.lane = claim_lane and j.state = 'running' and not j.cancel_requested;
    for found_job in
        select j.id, j.tenant_id, j.workspace_id, j.fence from jobs j
        left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = j.lane
        left join workspace_turns w on w.workspace_id = j.workspace_id and w.lane = j.lane
        where j.lane = claim_lane and j.state = 'running' and j.phase = 'run' and not j.cancel_requested
          and (of_job is null or j.id = of_job) and exists (select from job_partitions p where p.job_id = j.id)
        order by coalesce(t.served, 0), coalesce(w.served, 0), j.created_at, j.id
    loop
        -- Whoever gives back the last partition puts the job in the queue: not while somebody takes another one.
        perform from jobs j where j.id = found_job.id and j.state = 'running' and not j.cancel_requested for key share;
        continue when not found;
        select p.number into free_one from job_partitions p
        where p.job_id = found_job.id and p.open and (p.owner is null or p.lease_until < clock_timestamp())
        order by greatest(p.lapses + (p.owner is not null)::int - 1, 0), p.number for update of p skip locked limit 1;
        if found then
            return query
            update job_partitions p
            set owner = claim_owner, fence = p.fence + 1, lease_until = clock_timestamp() + lease,
                lapses = p.lapses + (p.owner is not null)::int
            where p.job_id = found_job.id and p.number = free_one
            returning found_job.id, found_job.tenant_id, found_job.workspace_id, found_job.fence, p.number, p.fence;
            return;
        end if;
    end loop;
end $$;

-- How many workers are at work in a lane, whoever they work for: readers of a cluster are shared by them.
create function lane_workers_at_work(of_lane text) returns bigint
language sql stable security definer set search_path = public, pg_temp as $$
    select coalesce(sum(greatest(1, (select count(*) from job_partitions p
                                     where p.job_id = j.id and p.owner is not null
                                       and p.lease_until >= clock_timestamp()))), 0)::bigint
    from jobs j where j.lane = of_lane and j.state = 'running' and j.lease_until >= clock_timestamp()
$$;
revoke execute on function claim_job(text, text, interval, boolean), claim_partition(text, text, interval, uuid),
    lane_workers_at_work(text) from public;
grant execute on function claim_job(text, text, interval, boolean), claim_partition(text, text, interval, uuid),
    lane_workers_at_work(text) to aos_app;
