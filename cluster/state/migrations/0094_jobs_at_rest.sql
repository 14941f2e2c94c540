-- Jobs at rest: one whose source is away is taken again after a while, and other jobs of its lane do not wait for it.

-- When a queued job may be claimed again; null where it may be at once.
alter table jobs add column resume_at timestamptz;

create or replace function claim_job(claim_lane text, claim_owner text, lease interval)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
    -- A job that ends its worker each time must not end every worker that there is.
    update jobs set state = 'failed', finished_at = clock_timestamp(), owner = null, lease_until = null,
        error = format('its worker ended %s times before a turn was done; resume it once the cause is mended', lapses)
    where lane = claim_lane and state = 'running' and lease_until < clock_timestamp() and lapses >= 8;
    return query
    with next as (
        select j.id from jobs j
        left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = j.lane
        where j.lane = claim_lane
          and ((j.state = 'queued' and (j.resume_at is null or j.resume_at <= clock_timestamp()))
               or (j.state = 'running' and j.lease_until < clock_timestamp()))
        order by coalesce(t.served, 0), coalesce(j.yielded_at, j.created_at), j.id
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

create or replace function others_wait(waiting_lane text, but_tenant uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
    select exists (select 1 from jobs where lane = waiting_lane and tenant_id <> but_tenant
                   and ((state = 'queued' and (resume_at is null or resume_at <= clock_timestamp()))
                        or (state = 'running' and lease_until < clock_timestamp())))
$$;

-- A job at rest stands before no other.
create or replace function job_places(asked uuid[], fresh interval)
returns table (id uuid, state text, kind text, since double precision, told text, ahead bigint, others bigint,
               running bigint, workers bigint, waits_for text)
language sql stable security definer set search_path = public, pg_temp as $$
    with open_jobs as (
        select j.*, coalesce(t.served, 0) as served, coalesce(j.yielded_at, j.created_at) as placed,
               j.resume_at > clock_timestamp() is not true as is_next
        from jobs j left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = j.lane
        where j.state in ('queued', 'running')
    ), seen as (
        select * from lane_workers where seen_at > clock_timestamp() - fresh
    )
    select mine.id, mine.state, mine.kind, extract(epoch from clock_timestamp() - mine.placed)::float, mine.waiting,
        (select count(*) from open_jobs o where o.lane = mine.lane and o.state = 'queued' and o.is_next
           and o.tenant_id = mine.tenant_id and (o.placed, o.id) < (mine.placed, mine.id)),
        (select count(*) from open_jobs o where o.lane = mine.lane and o.state = 'queued' and o.is_next
           and o.tenant_id <> mine.tenant_id and (o.served, o.placed, o.id) < (mine.served, mine.placed, mine.id)),
        (select count(*) from open_jobs o where o.lane = mine.lane and o.state = 'running'),
        (select count(*) from seen w where w.lane = mine.lane),
        (select w.waits_for from seen w where w.lane = mine.lane and (mine.state = 'queued' or w.owner = mine.owner)
         order by (w.waits_for is null) desc, w.seen_at desc limit 1)
    from open_jobs mine where mine.id = any(asked) and mine.tenant_id = (select aos_tenant())
$$;
