-- Partitions: a large job is worked at by several workers, each under a lease of its own. A unit belongs to the partition in
-- which it was planned, or to that of the file which brought it; the job's own lease is kept by whoever has a partition.
-- Held locks: units ACCESS EXCLUSIVE, 3 s/GiB.
-- Old code: runs beside it. It knows no partitions, so it takes any unit of a job that it holds; each is still settled once.

alter table units add column partition int not null default 0;
drop index units_pending;
create index units_pending on units (job_id, partition, stage, position) where status = 'pending';

-- None where a job is worked at by one worker at a time.
create table job_partitions (
    job_id uuid not null references jobs on delete cascade,
    number int not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    owner text, -- null where nobody works at it
    fence bigint not null default 0,
    lease_until timestamptz,
    primary key (job_id, number)
);
create policy belongs on job_partitions
    using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
alter table job_partitions enable row level security;
alter table job_partitions force row level security;
grant select, insert, update on job_partitions to aos_app;

-- Take a partition with something left to do, of one job, or of any in the lane that others work at: by round robin over
-- tenants, then workspaces, as whole jobs are. Once a job is to be cancelled nobody begins with another part of it.
create function claim_partition(claim_lane text, claim_owner text, lease interval, of_job uuid)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint, partition int, token bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
    found_job record;
    free_one int;
begin
    for found_job in
        select j.id, j.tenant_id, j.workspace_id, j.fence from jobs j
        left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = j.lane
        left join workspace_turns w on w.workspace_id = j.workspace_id and w.lane = j.lane
        where j.lane = claim_lane and j.state = 'running' and j.phase = 'run' and not j.cancel_requested
          and (of_job is null or j.id = of_job) and exists (select from job_partitions p where p.job_id = j.id)
        order by coalesce(t.served, 0), coalesce(w.served, 0), j.created_at, j.id
    loop
        select p.number into free_one from job_partitions p
        where p.job_id = found_job.id and (p.owner is null or p.lease_until < clock_timestamp())
          and exists (select from units u
                      where u.job_id = p.job_id and u.partition = p.number and u.status = 'pending')
        order by p.number for update of p skip locked limit 1;
        if found then
            return query
            update job_partitions p
            set owner = claim_owner, fence = p.fence + 1, lease_until = clock_timestamp() + lease
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
revoke execute on function claim_partition(text, text, interval, uuid), lane_workers_at_work(text) from public;
grant execute on function claim_partition(text, text, interval, uuid), lane_workers_at_work(text) to aos_app;
