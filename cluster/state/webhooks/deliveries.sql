-- claim_next: Webhooks with something to send now.
select id, tenant_id, workspace_id, fence from claim_webhooks(%(owner)s, make_interval(secs => %(lease)s), %(most)s);

-- heartbeat: Extend the lease; no row where it is lost.
update webhooks set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
returning false as cancel_requested;

-- hold: The webhook, if the fencing token still holds; locked for this transaction.
select id, url, owner_id, role, enabled, failures, next_at > clock_timestamp() as resting from webhooks
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
for no key update;

-- release: Let go; whoever looks next goes on.
update webhooks set lease_until = clock_timestamp()
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s;

-- heads: What is to be sent now, of each subject only what comes first.
select d.outbox_id, d.attempts from webhook_deliveries d
where d.webhook_id = %(webhook)s::uuid and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and d.state = 'pending' and d.next_at <= clock_timestamp()
  and not exists (select from webhook_deliveries e where e.webhook_id = d.webhook_id and e.state = 'pending'
                  and e.subject = d.subject and e.outbox_id < d.outbox_id)
order by d.outbox_id limit %(limit)s;

-- events: Those of them that the webhook may see.
select id, event_id, topic, payload, created_at from outbox
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = any(%(ids)s::bigint[]);

-- withhold: The webhook may not see these: they are not sent.
update webhook_deliveries set state = 'withheld', ended_at = clock_timestamp()
where webhook_id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and outbox_id = any(%(ids)s::bigint[]) and state = 'pending';

-- delivered: The receiver has these.
update webhook_deliveries d set state = 'delivered', attempts = d.attempts + 1, status = s.status, error = null,
    ended_at = clock_timestamp()
from unnest(%(ids)s::bigint[], %(statuses)s::int[]) as s(outbox, status)
where d.webhook_id = %(webhook)s::uuid and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and d.outbox_id = s.outbox and d.state = 'pending';

-- catch_up: A receiver that was away is back: what found nobody there waits no longer for its own next attempt.
update webhook_deliveries d set next_at = clock_timestamp()
from webhooks w
where w.id = d.webhook_id and w.tenant_id = d.tenant_id and w.workspace_id = d.workspace_id and w.failures >= %(most)s
  and d.webhook_id = %(webhook)s::uuid and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and d.state = 'pending' and d.failed_at is not null and d.status is null and d.next_at > clock_timestamp();

-- succeeded: The circuit is closed.
update webhooks set failures = 0, failing_since = null, error = null, succeeded_at = clock_timestamp(), next_at = clock_timestamp()
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s;

-- failed: It is tried again after a wait, or given up where it has been tried for as long as it may be.
update webhook_deliveries set attempts = attempts + 1, status = %(status)s, error = %(error)s,
    next_at = clock_timestamp() + make_interval(secs => %(wait)s), failed_at = coalesce(failed_at, clock_timestamp()),
    state = case when failed_at < clock_timestamp() - make_interval(secs => %(give_up)s) then 'dead' else 'pending' end,
    ended_at = case when failed_at < clock_timestamp() - make_interval(secs => %(give_up)s) then clock_timestamp() end
where webhook_id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and outbox_id = %(outbox)s and state = 'pending';

-- count_failure: One more in a row; after some of them the circuit opens, for longer each time.
update webhooks set failures = failures + 1, error = %(error)s, failing_since = coalesce(failing_since, clock_timestamp()),
    next_at = case when failures + 1 < %(most)s then next_at
        else clock_timestamp() + make_interval(secs => least(%(rest)s * power(2, least(failures + 1 - %(most)s, 16)),
                                                             %(longest)s)) end
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s
returning failures;

-- bury: While the circuit was open nothing was tried but what came first: what has waited all that time is given up with it.
update webhook_deliveries d set state = 'dead', error = %(error)s, ended_at = clock_timestamp()
from webhooks w
where w.id = d.webhook_id and w.tenant_id = d.tenant_id and w.workspace_id = d.workspace_id
  and w.failing_since < clock_timestamp() - make_interval(secs => %(give_up)s)
  and d.webhook_id = %(webhook)s::uuid and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and d.state = 'pending' and d.queued_at < clock_timestamp() - make_interval(secs => %(give_up)s);

-- rest: The receiver asks for a pause: nothing of any subject is sent until it is over.
update webhooks set next_at = greatest(next_at, clock_timestamp() + make_interval(secs => %(wait)s))
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s;

-- disable: The receiver wants no more of it.
update webhooks set enabled = false, disabled_why = %(error)s, updated_at = clock_timestamp()
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s;

-- prune: Events that are long over, and old receipts.
select prune_webhook_events(make_interval(days => %(keep)s), make_interval(days => %(receipts)s), %(most)s) as went;
