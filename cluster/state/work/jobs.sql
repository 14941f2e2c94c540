-- enqueue: Add a job, or return the one that already carries this idempotency key.
with added as (
    insert into jobs (tenant_id, workspace_id, kind, lane, payload, idempotency_key, request_hash, created_by)
    values (%(tenant)s, %(workspace)s, %(kind)s, %(lane)s, %(payload)s, %(key)s, %(request_hash)s, %(user)s)
    on conflict (workspace_id, idempotency_key) do nothing
    returning id, request_hash, true as fresh
)
select id, request_hash, fresh from added
union all
select id, request_hash, false from jobs
where workspace_id = %(workspace)s and idempotency_key = %(key)s and not exists (select 1 from added);

-- enqueued: The job that carries an idempotency key.
select id, request_hash, false as fresh from jobs where workspace_id = %(workspace)s and idempotency_key = %(key)s;

-- claim_next: Take the next job of a lane, by round robin over tenants, then workspaces, with a new fencing token.
select id, tenant_id, workspace_id, fence
from claim_job(%(lane)s, %(owner)s, make_interval(secs => %(lease)s), true);

-- load: What a worker needs to know of the job it has claimed.
select id, kind, lane, phase, payload, created_by, cancel_requested from jobs
where id = %(job)s and workspace_id = %(workspace)s;

-- heartbeat: Extend the lease; no row where another worker has the job now.
update jobs set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(job)s and workspace_id = %(workspace)s and fence = %(fence)s and state = 'running'
returning cancel_requested;

-- heartbeat_partition: Extend the partition's lease, and with it the job's; no row where either is another's now.
with kept as (
    update job_partitions set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
    where job_id = %(job)s and workspace_id = %(workspace)s and number = %(partition)s and fence = %(token)s
      and owner is not null and exists (select from jobs where id = job_id and state = 'running')
    returning job_id
)
update jobs j set lease_until = greatest(j.lease_until, clock_timestamp() + make_interval(secs => %(lease)s)) from kept
where j.id = kept.job_id and j.workspace_id = %(workspace)s and j.state = 'running'
returning j.cancel_requested;

-- hold: Lock the job row for this transaction if the fencing token still holds.
select id from jobs
where id = %(job)s and workspace_id = %(workspace)s and fence = %(fence)s and state = 'running'
for update;

-- hold_partition: Lock the partition's row alone, if its token still holds: those of other partitions write beside this.
select p.job_id as id from job_partitions p join jobs j on j.id = p.job_id and j.workspace_id = p.workspace_id
where p.job_id = %(job)s and p.workspace_id = %(workspace)s and p.number = %(partition)s and p.fence = %(token)s
  and p.owner is not null and j.state in ('queued', 'running')
for update of p;

-- planned: All units are written; from now on only they decide what is left.
update jobs set phase = 'run', payload = payload || %(found)s where id = %(job)s and workspace_id = %(workspace)s;

-- move: Wait in another lane.
update jobs set lane = %(lane)s where id = %(job)s and workspace_id = %(workspace)s;

-- release: Let another tenant have its turn, or wait for what is missing; the units keep what is done.
update jobs set state = 'queued', owner = null, lease_until = null, waiting = %(waiting)s,
    yielded_at = case when %(behind)s then clock_timestamp() when %(kept)s then created_at end,
    resume_at = clock_timestamp() + make_interval(secs => %(rest)s)
where id = %(job)s and workspace_id = %(workspace)s and fence = %(fence)s and state = 'running';

-- release_partition: As release, after one of its partitions was given back, where nobody has another: whoever claimed the
-- job since has not got it as a whole.
update jobs set state = 'queued', owner = null, lease_until = null, waiting = %(waiting)s,
    yielded_at = case when %(behind)s then clock_timestamp() when %(kept)s then created_at end,
    resume_at = clock_timestamp() + make_interval(secs => %(rest)s)
where id = %(job)s and workspace_id = %(workspace)s and state = 'running'
  and not exists (select from job_partitions p where p.job_id = jobs.id and p.owner is not null
                  and p.lease_until >= clock_timestamp());

-- refund_begun: What a worker that is told to go had in hand has not ended it.
update units set attempts = attempts - 1
where job_id = %(job)s and workspace_id = %(workspace)s and partition = %(partition)s and status = 'pending'
  and attempts > 0;

-- wake: A job that rests is taken at once.
update jobs set resume_at = null where id = %(job)s and workspace_id = %(workspace)s and state = 'queued';

-- claimed_in_vain: Count a claim after which nothing more is settled than at the one before; how many there were in a row.
update jobs j set vain_claims = case when j.settled_units = p.settled then j.vain_claims + 1 else 1 end,
    settled_units = p.settled
from (select coalesce(sum(done + failed + unchanged), 0) as settled from job_progress
      where job_id = %(job)s and workspace_id = %(workspace)s) p
where j.id = %(job)s and j.workspace_id = %(workspace)s and j.fence = %(fence)s and j.state = 'running'
returning j.vain_claims;

-- finish: Give the job its last state.
update jobs set state = %(state)s, error = case when %(state)s = 'cancelled' then coalesce(%(error)s, error)
                                         else %(error)s end, owner = null, lease_until = null, finished_at = clock_timestamp()
where id = %(job)s and workspace_id = %(workspace)s;

-- turn_done: A turn ended as it should, so the lapses before it, and what it waited for, say nothing any more.
update jobs set lapses = 0, waiting = null
where id = %(job)s and workspace_id = %(workspace)s and (lapses > 0 or waiting is not null);

-- waiting: What a job said that it waits for when it went back to the queue the last time.
select waiting from jobs where id = %(job)s and workspace_id = %(workspace)s;

-- seen: A worker tells that it takes jobs of a lane, and what keeps it from that.
select note_lane_worker(%(owner)s, %(lane)s, %(waits_for)s);

-- places: What stands before each of these jobs that has not ended, and who works at their lanes.
select id, state, kind, since, told, ahead, others, running, workers, waits_for, foreign_running, has_share, behind
from job_places(%(jobs)s::uuid[], make_interval(secs => %(fresh)s));

-- pages_used: How many pages the tenant's documents have.
select coalesce((select pages from tenant_pages where tenant_id = %(tenant)s), 0)::bigint as pages;

-- supersede: Re-indexes of the whole workspace that a later one makes needless end; a running one at its next heartbeat.
update jobs set cancel_requested = (state = 'running'),
    state = case when state = 'queued' then 'cancelled' else state end,
    finished_at = case when state = 'queued' then clock_timestamp() end,
    error = format('job %%s, which was asked for later, makes the index anew', %(job)s::text)
where workspace_id = %(workspace)s and kind = 'reindex' and payload->>'agent_id' is null and id <> %(job)s
  and state in ('queued', 'running');

-- refund: Units that were begun and not touched have not used up an attempt.
update units set attempts = greatest(attempts - 1, 0)
where job_id = %(job)s and workspace_id = %(workspace)s and stage = %(stage)s and key = any(%(keys)s)
  and status = 'pending';

-- turn: Count what a tenant and its workspace were served.
select record_turn(%(tenant)s, %(workspace)s, %(lane)s, %(units)s);

-- others_wait: Whether another workspace's job, of whatever tenant, waits in this lane.
select workspaces_wait(%(lane)s, %(workspace)s) as waits;

-- others_wait_partition: As others_wait, and whether another job of the workspace waits: those who share a large one do not
-- keep the lane from it.
select workspaces_wait(%(lane)s, %(workspace)s) or exists (
    select from jobs where lane = %(lane)s and workspace_id = %(workspace)s and id <> %(job)s and state = 'queued'
    and (resume_at is null or resume_at <= clock_timestamp())) as waits;

-- expect: Write one unit that is to be done; a second time changes nothing.
insert into units (job_id, partition, stage, key, subject, tenant_id, workspace_id, fingerprint, payload)
select %(job)s, %(partition)s, %(stage)s, u.key, u.subject, %(tenant)s, %(workspace)s, u.fingerprint, u.payload
from unnest(%(keys)s::text[], %(subjects)s::text[], %(fingerprints)s::text[], %(payloads)s::jsonb[])
    as u(key, subject, fingerprint, payload)
on conflict do nothing;

-- count_expected: Add what was newly written to the job's counters.
insert into job_progress (job_id, stage, tenant_id, workspace_id, expected)
values (%(job)s, %(stage)s, %(tenant)s, %(workspace)s, %(count)s)
on conflict (job_id, stage) do update set expected = job_progress.expected + excluded.expected;

-- pending: The next units of a stage that are to be done, in the order they were planned.
select key, subject, fingerprint, payload, attempts from units
where job_id = %(job)s and workspace_id = %(workspace)s and partition = %(partition)s and stage = %(stage)s
  and status = 'pending'
order by position limit %(limit)s;

-- pending_ready: The next units of a stage whose subject has nothing left to do in the stage before.
select u.key, u.subject, u.fingerprint, u.payload, u.attempts from units u
where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.partition = %(partition)s and u.stage = %(stage)s
  and u.status = 'pending'
  and not exists (select 1 from units b where b.job_id = u.job_id and b.subject = u.subject
                  and b.stage = %(before)s and b.status = 'pending')
order by u.position limit %(limit)s;

-- begin_units: Count an attempt before the work starts, so that a unit which kills its worker is found out.
update units set attempts = attempts + 1
where job_id = %(job)s and workspace_id = %(workspace)s and stage = %(stage)s and key = any(%(keys)s)
  and status = 'pending';

-- settle: Mark units as done, unchanged or failed, with what they came to; only those still pending count.
with settled as (
    update units u set status = s.status, failure = s.failure, outcome = s.outcome, caveats = s.caveats,
        settled_at = clock_timestamp()
    from unnest(%(keys)s::text[], %(statuses)s::text[], %(failures)s::jsonb[], %(outcomes)s::text[],
                %(caveats)s::jsonb[]) as s(key, status, failure, outcome, caveats)
    where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage = %(stage)s and u.key = s.key
      and u.status = 'pending'
    returning u.status, u.outcome
)
update job_progress p set
    done = p.done + (select count(*) from settled where status = 'done'),
    failed = p.failed + (select count(*) from settled where status = 'failed'),
    unchanged = p.unchanged + (select count(*) from settled where status = 'unchanged'),
    ended_degraded = p.ended_degraded + (select count(*) from settled where outcome = 'degraded'),
    ended_partial = p.ended_partial + (select count(*) from settled where outcome = 'partial'),
    ended_failed = p.ended_failed + (select count(*) from settled where outcome = 'failed')
where p.job_id = %(job)s and p.workspace_id = %(workspace)s and p.stage = %(stage)s;

-- progress: The counters of each stage; what ended somehow is counted as done or unchanged, too.
select stage, expected, done, failed, unchanged, ended_degraded, ended_partial, ended_failed from job_progress
where job_id = %(job)s and workspace_id = %(workspace)s;

-- failures: How often each reason occurred.
select failure->>'reason' as reason, count(*) as count from units
where job_id = %(job)s and workspace_id = %(workspace)s and status = 'failed'
group by 1 order by 2 desc, 1;

-- caveats: Of how many of a job's documents each kind of caveat holds, where it counts.
select c.caveat->>'kind' as kind, count(*) as count from units u cross join lateral jsonb_array_elements(u.caveats) c(caveat)
where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.outcome is not null and c.caveat->>'weight' <> 'note'
group by 1 order by 2 desc, 1;

-- doubtful_units: Which documents a job left with less than all they hold, or with doubts, and why, oldest first;
-- nothing of documents the reader may not see.
select u.outcome as status, u.status = 'unchanged' as unchanged, d.id as document_id, d.filename,
       coalesce(u.caveats, '[]') as caveats
from units u
cross join lateral (
    select d.id, d.filename from documents d
    where u.stage = 'survey' and d.origin = u.key and d.workspace_id = u.workspace_id
    union all
    (select d.id, d.filename from document_versions v
     join documents d on d.id = v.document_id and d.workspace_id = v.workspace_id
     where u.stage = 'index' and v.id in (u.subject, u.payload->>'previous') and v.workspace_id = u.workspace_id limit 1)
) d
where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.outcome is not null and u.stage in ('survey', 'index')
order by u.position offset %(skip)s limit %(limit)s;

-- failed_units: Which documents and pages failed and why, oldest first; nothing of documents the reader may not see.
select u.stage, d.id as document_id, d.filename,
       case when u.stage = 'read' then (u.payload->>'number')::int end as page, u.failure, u.attempts
from units u
cross join lateral (
    select d.id, d.filename from documents d
    where u.stage = 'survey' and d.origin = u.key and d.workspace_id = u.workspace_id
    union all
    (select d.id, d.filename from document_versions v
     join documents d on d.id = v.document_id and d.workspace_id = v.workspace_id
     where u.stage <> 'survey' and v.id in (u.subject, u.payload->>'previous') and v.workspace_id = u.workspace_id limit 1)
) d
where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.status = 'failed'
order by u.position offset %(skip)s limit %(limit)s;

-- show: One job as its readers see it.
select id, kind, lane, state, phase, payload, created_at, started_at, finished_at, error, cancel_requested, attempts,
       lease_until
from jobs where id = %(job)s and workspace_id = %(workspace)s;

-- list: The jobs of a workspace, newest first.
select id, kind, lane, state, phase, payload, created_at, started_at, finished_at, error, cancel_requested, attempts,
       lease_until
from jobs where workspace_id = %(workspace)s and (%(state)s::text is null or state = %(state)s)
  and (%(kind)s::text is null or kind = %(kind)s)
  and (%(source)s::text is null or payload->>'source' = %(source)s)
order by created_at desc, id offset %(skip)s limit %(limit)s;

-- count: How many jobs a workspace has.
select count(*) as total from jobs where workspace_id = %(workspace)s and (%(state)s::text is null or state = %(state)s)
  and (%(kind)s::text is null or kind = %(kind)s)
  and (%(source)s::text is null or payload->>'source' = %(source)s);

-- ask_cancel: Stop a waiting job now, a running one at its next heartbeat.
update jobs set cancel_requested = (state = 'running'),
    state = case when state = 'queued' then 'cancelled' else state end,
    finished_at = case when state = 'queued' then clock_timestamp() end
where id = %(job)s and workspace_id = %(workspace)s and state in ('queued', 'running') returning state;

-- fresh_attempts: Whoever resumes a job gives what is left of it new attempts.
update units set attempts = 0 where job_id = %(job)s and workspace_id = %(workspace)s and status = 'pending';

-- resume: Put an ended job with units left back in the queue.
update jobs set state = 'queued', cancel_requested = false, finished_at = null, error = null, lapses = 0,
    vain_claims = 0, resume_at = null, payload = payload - 'failing'
where id = %(job)s and workspace_id = %(workspace)s and state in ('cancelled', 'failed', 'partial') returning state;

-- worthwhile: Whether anything is left to do that is not in vain; a job without a plan has all of it before it.
select j.id from jobs j where j.id = %(job)s and j.workspace_id = %(workspace)s and (j.phase <> 'run' or exists (
    select from units u where u.job_id = j.id and u.status = 'pending' and u.subject <> all(%(vain)s::text[])));

-- reopen_failed: Failed units are to be done again, with new attempts.
with reopened as (
    update units set status = 'pending', attempts = 0, failure = null, settled_at = null
    where job_id = %(job)s and workspace_id = %(workspace)s and status = 'failed' and subject <> all(%(vain)s::text[])
    returning stage, subject
), counted as (
    update job_progress p set failed = p.failed - r.count
    from (select stage, count(*) as count from reopened group by stage) r
    where p.job_id = %(job)s and p.workspace_id = %(workspace)s and p.stage = r.stage
    returning p.stage
)
select distinct subject from reopened;

-- reopen_degraded: Pages that have a caveat of some kinds are to be read again, with new attempts.
with reopened as (
    update units set status = 'pending', attempts = 0, failure = null, outcome = null, caveats = null, settled_at = null
    where job_id = %(job)s and workspace_id = %(workspace)s and stage = %(stage)s and status = 'done'
      and outcome = 'degraded' and subject <> all(%(vain)s::text[]) and exists (
        select from pages p cross join lateral jsonb_array_elements(p.caveats) c(caveat)
        where p.id = units.key and p.workspace_id = units.workspace_id and c.caveat->>'kind' = any(%(kinds)s))
    returning subject
), counted as (
    update job_progress p set done = p.done - (select count(*) from reopened),
        ended_degraded = p.ended_degraded - (select count(*) from reopened)
    where p.job_id = %(job)s and p.workspace_id = %(workspace)s and p.stage = %(stage)s
    returning p.stage
)
select distinct subject from reopened;

-- reopen_subjects: A stage that ran over incomplete subjects is to run over them again.
with was as (
    select u.key, u.outcome from units u
    where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage = %(stage)s
      and (%(subjects)s::text[] is null or u.subject = any(%(subjects)s)) and u.status = 'done' for update
), reopened as (
    update units u set status = 'pending', attempts = 0, failure = null, outcome = null, caveats = null,
        settled_at = null
    from was
    where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage = %(stage)s and u.key = was.key
    returning was.outcome
)
update job_progress p set done = p.done - (select count(*) from reopened),
    ended_degraded = p.ended_degraded - (select count(*) from reopened where outcome = 'degraded'),
    ended_partial = p.ended_partial - (select count(*) from reopened where outcome = 'partial'),
    ended_failed = p.ended_failed - (select count(*) from reopened where outcome = 'failed')
where p.job_id = %(job)s and p.workspace_id = %(workspace)s and p.stage = %(stage)s;

-- event: Append to a stream without a gap.
select append_event(%(stream)s, %(type)s, %(payload)s) as seq;

-- events_after: What a reader of the stream has not seen.
select seq, type, payload, at from events
where stream = %(stream)s and workspace_id = %(workspace)s and seq > %(after)s order by seq limit %(limit)s;
