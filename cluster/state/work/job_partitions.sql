-- last: The number of the last partition that any unit was planned in.
select coalesce(max(partition), 0) as last from units
where job_id = %(job)s and workspace_id = %(workspace)s and status = 'pending';

-- plan: A row for each partition up to the last, to be claimed by whoever is free.
insert into job_partitions (job_id, number, tenant_id, workspace_id)
select %(job)s, n, %(tenant)s, %(workspace)s from generate_series(0, %(last)s) n on conflict do nothing;

-- claim: Take a partition of a job, or of any in the lane that others work at, with a new token of its own.
select id, tenant_id, workspace_id, fence, partition, token
from claim_partition(%(lane)s, %(owner)s, make_interval(secs => %(lease)s), %(job)s);

-- give_back: Nobody works at it; what is left of it is anybody's.
update job_partitions p set owner = null, lease_until = null,
    open = exists (select from units u where u.job_id = p.job_id and u.partition = p.number and u.status = 'pending')
where p.job_id = %(job)s and p.workspace_id = %(workspace)s and p.number = %(partition)s and p.fence = %(token)s;

-- lock_job: Two that give back theirs at once: one is the last.
select id from jobs where id = %(job)s and workspace_id = %(workspace)s and state = 'running' for update;

-- is_open: Whether anything is left to do in the partition.
select exists (select from units where job_id = %(job)s and workspace_id = %(workspace)s and partition = %(partition)s
               and status = 'pending') as open;

-- look_again: Partitions that were taken for done are open where something is to be done in them after all.
update job_partitions p set open = true
where p.job_id = %(job)s and p.workspace_id = %(workspace)s and not p.open
  and exists (select from units u where u.job_id = p.job_id and u.partition = p.number and u.status = 'pending');

-- begin_again: A job that has ended goes on: nobody has any of its partitions, whatever they think.
update job_partitions set owner = null, lease_until = null, open = true, lapses = 0
where job_id = %(job)s and workspace_id = %(workspace)s;

-- worked: A turn ended as it should: whatever ended the workers before says nothing any more.
update job_partitions set lapses = 0
where job_id = %(job)s and workspace_id = %(workspace)s and number = %(partition)s and fence = %(token)s and lapses > 0;

-- fail: All who work at the job stop, and whoever claims it after the last of them ends it with this reason.
update jobs set cancel_requested = true, payload = payload || jsonb_build_object('failing', %(why)s::text)
where id = %(job)s and workspace_id = %(workspace)s and state in ('queued', 'running') and not cancel_requested;

-- at_work: How many workers are at work in a lane now.
select lane_workers_at_work(%(lane)s) as workers;

-- counts: How many partitions a job has, how many have work left, and at how many somebody works.
select count(*) as total, count(*) filter (where open) as open,
       count(*) filter (where owner is not null and lease_until >= clock_timestamp()) as at_work
from job_partitions where job_id = %(job)s and workspace_id = %(workspace)s;
