-- show: One run as its readers see it.
select id, session_id, agent_id, user_id, path, state, attended, cancel_requested, outcome, error,
    prompt_tokens, completion_tokens, cost_usd, created_at, started_at, finished_at, lease_until,
    (select count(*) from run_feedback f where f.run_id = runs.id and f.thumb = 'up'
       and f.tenant_id = runs.tenant_id and f.workspace_id = runs.workspace_id) as thumbs_up,
    (select count(*) from run_feedback f where f.run_id = runs.id and f.thumb = 'down'
       and f.tenant_id = runs.tenant_id and f.workspace_id = runs.workspace_id) as thumbs_down
from runs where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- list: The runs of a workspace, newest first.
select id, session_id, agent_id, user_id, path, state, attended, cancel_requested, outcome, error,
    prompt_tokens, completion_tokens, cost_usd, created_at, started_at, finished_at, lease_until,
    (select count(*) from run_feedback f where f.run_id = runs.id and f.thumb = 'up'
       and f.tenant_id = runs.tenant_id and f.workspace_id = runs.workspace_id) as thumbs_up,
    (select count(*) from run_feedback f where f.run_id = runs.id and f.thumb = 'down'
       and f.tenant_id = runs.tenant_id and f.workspace_id = runs.workspace_id) as thumbs_down
from runs
where tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and (%(state)s::text is null or state = %(state)s) and (%(session)s::uuid is null or session_id = %(session)s)
  and (%(agent)s::uuid is null or agent_id = %(agent)s) and (%(user)s::uuid is null or user_id = %(user)s)
  and (%(thumb)s::text is null or exists (select from run_feedback f where f.run_id = runs.id and f.thumb = %(thumb)s
       and f.tenant_id = runs.tenant_id and f.workspace_id = runs.workspace_id))
order by created_at desc, id offset %(skip)s limit %(limit)s;

-- count: How many that are.
select count(*) as total from runs
where tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and (%(state)s::text is null or state = %(state)s) and (%(session)s::uuid is null or session_id = %(session)s)
  and (%(agent)s::uuid is null or agent_id = %(agent)s) and (%(user)s::uuid is null or user_id = %(user)s)
  and (%(thumb)s::text is null or exists (select from run_feedback f where f.run_id = runs.id and f.thumb = %(thumb)s
       and f.tenant_id = runs.tenant_id and f.workspace_id = runs.workspace_id));

-- events_after: What a reader of the run has not seen.
select seq, type, payload, at from events
where stream = %(stream)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and seq > %(after)s
order by seq limit %(limit)s;

-- steps: The trace: every effect with its time and its cost.
select seq, kind, name, request, request_hash, state, reply, ms, prompt_tokens, completion_tokens, cost_usd, at
from run_steps where run_id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s order by seq;

-- journal: What a replay needs beside the steps.
select id, state, path, seed, fence, input, outcome, error from runs
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;
