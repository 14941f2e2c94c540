-- Places given back: who has more of a lane's places than its share gives them back at the next page, not at the end of its
-- slice, while another tenant has work there. And where there are several tenants, one place of the lanes of uploads and of
-- listings stays free for who has none.
-- Held locks: none.
-- Old code: runs beside it.

-- As 0109 has it, and one thing more: no tenant takes the last of three places or more, also where it is alone in the lane,
-- unless it is the only one that there is. Of uploads half of the places fill the cores, so that costs it nothing; a listing
-- waits for its source, and ends with no slice. In the lanes of long work a worker has one place: nobody leaves that idle.
create or replace function full_tenants(of_lane text) returns uuid[]
language sql stable security definer set search_path = public, pg_temp as $$
    with tenants_here as (
        select tenant_id, count(*) filter (where at_work) as at_work, count(*) over () as tenants,
               sum(count(*) filter (where at_work)) over () as all_at_work
        from (select tenant_id, state = 'running' and lease_until >= clock_timestamp() as at_work from jobs
              where lane = of_lane and state in ('queued', 'running')
                and (state = 'running' or resume_at is null or resume_at <= clock_timestamp())) open_jobs
        group by tenant_id
    ), places as (
        select count(*) as count, (count(*) + 1) / 2 as half,
               of_lane in ('small', 'sync') and count(*) > 2 and exists (select from tenants offset 1) as keeps_one
        from lane_workers
        where lane = of_lane and seen_at > clock_timestamp() - interval '1 min'
    )
    select coalesce(array_agg(h.tenant_id) filter (where (p.keeps_one and h.at_work >= p.count - 1)
               or (p.count > 1 and h.tenants > 1 and case when of_lane = 'small'
               then h.all_at_work >= p.half and h.at_work >= greatest(1, p.half / h.tenants) else h.at_work >= p.half end)),
           '{}')
    from tenants_here h cross join places p
$$;

-- Those of the asked jobs that are at work beyond their tenant's share of the lane's places. The places that fill the cores
-- are dealt in turn to the tenants that have work there, first to who had less of the lane's time: one to each at least,
-- and no more than it has work for. What a tenant has at work beyond what it was dealt, it gives back, the newest first. A
-- tenant that is alone gives nothing back.
create function jobs_beyond_share(of_lane text, asked uuid[]) returns table (job_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    with places as (
        select count(*) as count, (count(*) + 1) / 2 as half from lane_workers
        where lane = of_lane and seen_at > clock_timestamp() - interval '1 min'
    ), tenants_here as (
        select j.tenant_id, count(*) as open, count(*) over () as tenants, coalesce(min(t.served), 0) as served
        from jobs j left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = of_lane
        where j.lane = of_lane and j.state in ('queued', 'running')
          and (j.state = 'running' or j.resume_at is null or j.resume_at <= clock_timestamp())
        group by j.tenant_id
    ), dealt as (
        select tenant_id, count(*) as places from (
            select h.tenant_id, row_number() over (order by turn, h.served, h.tenant_id) as place,
                   greatest(p.half, h.tenants) as all_places
            from tenants_here h cross join places p cross join lateral generate_series(1, least(h.open, p.half)) turn
            where p.count > 1 and h.tenants > 1
        ) turns where place <= all_places group by tenant_id
    )
    select j.id from (
        select id, tenant_id, row_number() over (partition by tenant_id order by started_at, id) as place from jobs
        where lane = of_lane and state = 'running' and lease_until >= clock_timestamp()
    ) j join dealt d on d.tenant_id = j.tenant_id
    where j.place > d.places and j.id = any(asked)
$$;
revoke execute on function jobs_beyond_share(text, uuid[]) from public;
grant execute on function jobs_beyond_share(text, uuid[]) to aos_app;
