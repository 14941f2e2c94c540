-- request: Put an action before a person; the same step asks once.
insert into approvals (id, tenant_id, workspace_id, run_id, step, session_id, agent_id, requested_by, category, tool,
    arguments, digest, reason, expires_at)
select %(id)s, r.tenant_id, r.workspace_id, r.id, %(step)s, r.session_id, r.agent_id, r.user_id, %(category)s, %(tool)s,
    %(arguments)s, %(digest)s, %(reason)s, coalesce(%(expires_at)s::timestamptz, '9999-12-31')
from runs r where r.id = %(run)s and r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
on conflict (run_id, step, category) do nothing;

-- reopen: A repeated action that broke off again is put before a person again.
update approvals set state = 'pending', execution = 'none', decided_arguments = null, reviewer = null, notes = '',
    decided_at = null
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and category = 'reconcile'
  and state = 'approved' and execution = 'started';

-- show: One of them.
select id, run_id, step, session_id, agent_id, requested_by, category, tool, arguments, digest, reason,
    case when state = 'pending' and expires_at < clock_timestamp() then 'expired' else state end as state,
    execution, decided_arguments, decided_digest, reviewer, notes, created_at, expires_at, decided_at, executed_at
from approvals where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- list: Those of a workspace, the oldest first, so that what expires next is on top; questions belong to conversations.
select * from (
    select id, run_id, step, session_id, agent_id, requested_by, category, tool, arguments, digest, reason,
        case when state = 'pending' and expires_at < clock_timestamp() then 'expired' else state end as state,
        execution, decided_arguments, decided_digest, reviewer, notes, created_at, expires_at, decided_at, executed_at
    from approvals
    where tenant_id = %(tenant)s and workspace_id = %(workspace)s and (%(run)s::uuid is null or run_id = %(run)s)
      and category <> 'input' and (%(state)s::text is distinct from 'pending' or state = 'pending')
) a
where %(state)s::text is null or state = %(state)s
order by created_at, id offset %(skip)s limit %(limit)s;

-- count: How many that are.
select count(*) as total from approvals
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and (%(run)s::uuid is null or run_id = %(run)s)
  and category <> 'input' and (%(state)s::text is distinct from 'pending' or state = 'pending')
  and (%(state)s::text is null or %(state)s =
       case when state = 'pending' and expires_at < clock_timestamp() then 'expired' else state end);

-- hold_run: Lock the run before its approval, as everything does that writes to both.
select state from runs where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s for update;

-- decide: Whoever comes first decides, and only in time.
update approvals set state = %(state)s, decided_arguments = %(arguments)s, decided_digest = %(digest)s,
    reviewer = %(reviewer)s, notes = %(notes)s, decided_at = clock_timestamp(),
    execution = case when category = 'reconcile' then 'none' else execution end
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and category = %(category)s
  and state = 'pending' and expires_at > clock_timestamp()
returning run_id;

-- question: What a user's conversation was asked last, and where the run stands that asked it.
select a.id, a.run_id, a.session_id, a.agent_id, a.arguments, a.decided_arguments, a.created_at, a.expires_at,
    case when a.state = 'pending' and a.expires_at < clock_timestamp() then 'expired' else a.state end as state,
    r.state as run_state
from approvals a
join sessions s on s.id = a.session_id and s.tenant_id = a.tenant_id and s.workspace_id = a.workspace_id
join runs r on r.id = a.run_id and r.tenant_id = a.tenant_id and r.workspace_id = a.workspace_id
where a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s and a.category = 'input'
  and s.user_id = %(user)s and (s.id = %(session)s::uuid or s.key = %(key)s)
order by a.created_at desc, a.step desc limit 1;

-- requeue: The run that waited goes on without a reader, and one that broke off, when somebody has said where it stands.
-- Whoever answers a question reads along: the run is theirs to claim for the time of a lease.
update runs set state = 'queued', attended = %(category)s::text = 'input', lapses = 0,
    lease_until = case when %(category)s::text = 'input' then clock_timestamp() + make_interval(secs => %(lease)s)
                       else lease_until end
where id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and not cancel_requested
  and (state = 'waiting' or (state = 'interrupted' and %(category)s::text = 'reconcile'));

-- settle: What somebody has found out of a run that has ended.
select end_approvals(%(run)s, %(tenant)s, %(workspace)s);

-- unwanted: Whether the run of an approval is to be cancelled; the run is locked.
select r.id from runs r join approvals a on a.run_id = r.id and a.tenant_id = r.tenant_id and a.workspace_id = r.workspace_id
where a.id = %(id)s and r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s and r.cancel_requested;

-- begin: An approved action begins once, and only the one that was approved.
update approvals set execution = 'started', executed_at = clock_timestamp()
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and state = 'approved'
  and execution = 'none' and (category = 'reconcile' or decided_digest = %(digest)s);

-- end: What became of it; of the approval itself and of whether its step was put before a person again, which is moot
-- now where nobody has answered.
update approvals set execution = %(execution)s, executed_at = clock_timestamp(),
    state = case when state = 'pending' then 'expired' else state end
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and run_id = %(run)s
  and ((state = 'approved' and id = %(id)s::uuid)
       or (state in ('approved', 'pending') and category = 'reconcile' and step = %(step)s));

-- doubt: It began, and nobody knows whether it happened.
update approvals set execution = 'needs_reconcile'
where id = %(id)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and execution = 'started';
