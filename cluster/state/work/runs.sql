-- create: Add a run; one whose id is there already stays as it is.
insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, attended, input, seed, masked, lease_until)
values (%(run)s, %(tenant)s, %(workspace)s, %(session)s, %(agent)s, %(user)s, %(path)s, %(attended)s, %(input)s,
    %(seed)s, %(masked)s, clock_timestamp() + make_interval(secs => %(lease)s))
on conflict (id) do nothing;

-- claim: Take one run by its id; nobody else may have it. Once unattended a run stays so.
update runs set state = 'running', owner = %(owner)s, fence = fence + 1, attended = attended and %(attended)s,
    lease_until = clock_timestamp() + make_interval(secs => %(lease)s),
    started_at = coalesce(started_at, clock_timestamp())
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and not cancel_requested
  and (state in ('queued', 'interrupted') or (state = 'running' and lease_until < clock_timestamp()))
returning fence;

-- unwanted: Lock a run that is to be cancelled and that nobody carries any more.
select id from runs
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and cancel_requested
  and (state in ('queued', 'interrupted') or (state = 'running' and lease_until < clock_timestamp()))
for update;

-- claim_next: Take the unattended run that waits longest, in any workspace.
select id, tenant_id, workspace_id, fence from claim_run(%(owner)s, make_interval(secs => %(lease)s));

-- doubtful: Runs in which something was begun of which nobody is asked what became, in any workspace.
select id, tenant_id, workspace_id from doubtful_runs(%(most)s);

-- hold_idle: Lock such a run, unless somebody is at it.
select id from runs
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and state in ('interrupted', 'failed', 'cancelled')
for update skip locked;

-- begun: Its actions that were begun, whose end nobody recorded and of which nobody is asked.
select s.seq, s.name, s.request from run_steps s
where s.run_id = %(run)s and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s
  and s.kind = 'tool' and s.state = 'started'
  and not exists (select from approvals a
                  where a.run_id = s.run_id and a.tenant_id = s.tenant_id and a.workspace_id = s.workspace_id
                    and a.step = s.seq and a.category = 'reconcile'
                    and not (a.state = 'approved' and a.execution in ('started', 'needs_reconcile')))
order by s.seq;

-- doubt: Ask a person what became of one; the approval that allowed it is the step before.
with allowed as (
    update approvals set execution = 'needs_reconcile'
    where run_id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and step = %(step)s - 1
      and category = 'approval' and execution = 'started'
)
insert into approvals as a (id, tenant_id, workspace_id, run_id, step, session_id, agent_id, requested_by, category,
    tool, arguments, digest, reason, execution, expires_at)
select %(id)s, r.tenant_id, r.workspace_id, r.id, %(step)s, r.session_id, r.agent_id, r.user_id, 'reconcile', %(tool)s,
    %(arguments)s, %(digest)s, 'it was begun, and nobody recorded whether it happened', 'needs_reconcile', '9999-12-31'
from runs r where r.id = %(run)s and r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
on conflict (run_id, step, category) do update set state = 'pending', execution = 'needs_reconcile',
    decided_arguments = null, reviewer = null, notes = '', decided_at = null
where a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s and a.state = 'approved';

-- last_of_session: The path of the run of a conversation that was completed last, and what its trace says of documents.
select path, jsonb_path_query_first(outcome, '$.trace[*] ? (@.step == "documents")') as traced from runs
where session_id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and depth = 0
  and state = 'completed'
order by created_at desc limit 1;

-- load: What an owner needs to know of a run.
select id, state, seed, input, fence, attended, outcome, error,
    coalesce((select last_seq from event_streams s where s.stream = 'run:' || runs.id
              and s.tenant_id = runs.tenant_id and s.workspace_id = runs.workspace_id), 0) as last_event
from runs where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- steps: The journal in order.
select seq, kind, name, request, request_hash, state, reply, ms, prompt_tokens, completion_tokens, cost_usd, at
from run_steps where run_id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s order by seq;

-- heartbeat: Extend the lease; no row where it is lost.
update runs set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
  and state = 'running'
returning cancel_requested;

-- hold: Lock the run for this transaction if the fencing token still holds.
select id from runs
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
  and state = 'running'
for update;

-- put_step: Write a step, or the end of one that was started; one that has ended stays as it is.
insert into run_steps (run_id, seq, tenant_id, workspace_id, kind, name, request, request_hash, state, reply, ms,
    prompt_tokens, completion_tokens, cost_usd)
values (%(run)s, %(seq)s, %(tenant)s, %(workspace)s, %(kind)s, %(name)s, %(request)s, %(request_hash)s, %(state)s,
    %(reply)s, %(ms)s, %(prompt_tokens)s, %(completion_tokens)s, %(cost_usd)s)
on conflict (run_id, seq) do update set state = excluded.state, reply = excluded.reply, ms = excluded.ms,
    prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens,
    cost_usd = excluded.cost_usd, at = clock_timestamp()
where run_steps.state = 'started' and run_steps.request_hash = excluded.request_hash
  and run_steps.tenant_id = %(tenant)s and run_steps.workspace_id = %(workspace)s;

-- spent: Add a step's cost to the run; a run that gets on has not crashed.
update runs set prompt_tokens = prompt_tokens + %(prompt_tokens)s, cost_usd = cost_usd + %(cost_usd)s,
    completion_tokens = completion_tokens + %(completion_tokens)s, lapses = 0
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- open_stream: Move the stream's end on; no row where numbers would be missing in between.
insert into event_streams as s (stream, tenant_id, workspace_id, last_seq)
select %(stream)s, %(tenant)s, %(workspace)s, %(last)s
where %(first)s = 1 or exists (select 1 from event_streams e where e.stream = %(stream)s
                               and e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s)
on conflict (stream) do update set last_seq = greatest(s.last_seq, excluded.last_seq)
where s.last_seq >= %(first)s - 1 and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s
returning last_seq;

-- put_events: Store numbered events; those that are stored stay as they are.
insert into events (stream, seq, type, payload, tenant_id, workspace_id)
select %(stream)s, e.seq, e.type, e.payload, %(tenant)s, %(workspace)s
from unnest(%(seqs)s::bigint[], %(types)s::text[], %(payloads)s::jsonb[]) as e(seq, type, payload)
on conflict (stream, seq) do nothing;

-- wait: The run waits for a person; nobody owns it meanwhile.
update runs set state = 'waiting', owner = null, lease_until = null
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and state = 'running'
returning cancel_requested;

-- finish: Give the run its end.
update runs set state = %(state)s, outcome = %(outcome)s, error = %(error)s, owner = null, lease_until = null,
    finished_at = clock_timestamp()
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- release: Give the run back: one that somebody read waits for them, any other for the next owner.
update runs set state = case when attended then 'interrupted' else 'queued' end, owner = null, lease_until = null
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
  and state = 'running'
returning state, cancel_requested;

-- ask_cancel: Ask for the end of a run; whether somebody carries it now, who is to bring that about.
update runs set cancel_requested = true
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and state in ('queued', 'running', 'waiting', 'interrupted')
returning state = 'running' and lease_until > clock_timestamp() as carried;

-- cancel: End a run that is to be cancelled and is locked.
select cancel_run(id, tenant_id, workspace_id) from runs
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- end_approvals: What waits of a run that has ended.
select end_approvals(%(run)s, %(tenant)s, %(workspace)s);
