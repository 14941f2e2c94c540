-- lanes: What waits and runs in each lane, of everybody together.
select lane, waiting, running, oldest_seconds from lane_load();

-- counts: What there is, of everybody together.
select figure, label, value from system_counts();

-- running_jobs: The workspace's jobs that wait or run, the newest first, and how many there are.
select id, kind, lane, state, phase, created_at, started_at, count(*) over () as total
from jobs where tenant_id = %(tenant)s and workspace_id = %(workspace)s and state in ('queued', 'running')
order by created_at desc, id limit %(limit)s;

-- pending_approvals: How many actions of the workspace wait for a decision, and since when.
select count(*) as total, min(created_at) as oldest from approvals
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and state = 'pending';

-- page_failures: Pages and files of the workspace that failed since then, by reason, with the newest job of each.
select failure->>'reason' as reason, count(*) as count, (array_agg(job_id order by settled_at desc))[1] as job
from units
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and status = 'failed' and settled_at >= %(since)s
group by 1 order by 2 desc, 1;

-- run_failures: Turns of the workspace that failed since then, by the error's code, with the newest of each.
select coalesce(error->>'code', 'unknown') as reason, count(*) as count,
       (array_agg(id order by created_at desc))[1] as run
from runs
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and state = 'failed' and created_at >= %(since)s
group by 1 order by 2 desc, 1;

-- hours: Turns, tokens and cost of the workspace by hour, the empty hours too.
with counted as (
    select date_trunc('hour', created_at, 'UTC') as hour, count(*) as requests,
           count(*) filter (where state = 'failed') as failed, sum(prompt_tokens) as prompt_tokens,
           sum(completion_tokens) as completion_tokens, sum(cost_usd) as cost_usd
    from runs
    where tenant_id = %(tenant)s and workspace_id = %(workspace)s and created_at >= %(since)s
    group by 1
)
select h.hour, coalesce(c.requests, 0) as requests, coalesce(c.failed, 0) as failed,
       coalesce(c.prompt_tokens, 0) as prompt_tokens, coalesce(c.completion_tokens, 0) as completion_tokens,
       coalesce(c.cost_usd, 0) as cost_usd
from generate_series(date_trunc('hour', %(since)s::timestamptz, 'UTC'), %(until)s::timestamptz, interval '1 hour') as h(hour)
left join counted c on c.hour = h.hour
order by h.hour;

-- pages_done: Pages of the workspace that were read by hour, the empty hours too.
with counted as (
    select date_trunc('hour', read_at, 'UTC') as hour, count(*) as pages
    from pages
    where tenant_id = %(tenant)s and workspace_id = %(workspace)s and read_at >= %(since)s
    group by 1
)
select h.hour, coalesce(c.pages, 0) as pages
from generate_series(date_trunc('hour', %(since)s::timestamptz, 'UTC'), %(until)s::timestamptz, interval '1 hour') as h(hour)
left join counted c on c.hour = h.hour
order by h.hour;

-- store: What the live generation of the workspace holds.
select w.generation_id as generation, g.embedder, g.dimension,
       (select coalesce(sum(chunks), 0) from indexed_versions i
        where i.generation_id = w.generation_id and i.workspace_id = w.id) as chunks
from workspaces w left join generations g on g.id = w.generation_id
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;
