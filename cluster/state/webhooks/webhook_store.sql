-- add: A webhook that sees what its owner sees, or as a role alone.
insert into webhooks (tenant_id, workspace_id, name, url, topics, owner_id, role)
values (%(tenant)s, %(workspace)s, %(name)s, %(url)s, %(topics)s, %(user)s, %(role)s)
returning id;

-- show: One webhook with how it stands.
select w.id, w.name, w.url, w.topics, w.owner_id, u.email as owner, w.role, w.enabled, w.disabled_why, w.failures,
    w.error, w.succeeded_at, case when w.failures > 0 or w.next_at > clock_timestamp() then w.next_at end as next_at, w.created_at, w.updated_at,
    (select count(*) from webhook_secrets s where s.webhook_id = w.id
     and (s.expires_at is null or s.expires_at > clock_timestamp())) as secrets,
    n.pending, n.dead
from webhooks w
left join users u on u.id = w.owner_id
cross join lateral (
    select count(*) filter (where d.state = 'pending') as pending, count(*) filter (where d.state = 'dead') as dead
    from webhook_deliveries d where d.webhook_id = w.id and d.state in ('pending', 'dead')) n
where w.id = %(webhook)s::uuid and w.tenant_id = %(tenant)s and w.workspace_id = %(workspace)s;

-- list: The workspace's webhooks by name.
select w.id, w.name, w.url, w.topics, w.owner_id, u.email as owner, w.role, w.enabled, w.disabled_why, w.failures,
    w.error, w.succeeded_at, case when w.failures > 0 or w.next_at > clock_timestamp() then w.next_at end as next_at, w.created_at, w.updated_at,
    (select count(*) from webhook_secrets s where s.webhook_id = w.id
     and (s.expires_at is null or s.expires_at > clock_timestamp())) as secrets,
    n.pending, n.dead
from webhooks w
left join users u on u.id = w.owner_id
cross join lateral (
    select count(*) filter (where d.state = 'pending') as pending, count(*) filter (where d.state = 'dead') as dead
    from webhook_deliveries d where d.webhook_id = w.id and d.state in ('pending', 'dead')) n
where w.tenant_id = %(tenant)s and w.workspace_id = %(workspace)s
order by w.name, w.id offset %(skip)s limit %(limit)s;

-- count: How many there are.
select count(*) as total from webhooks where tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- change: Other values; null stays. Who switches it on again closes its circuit.
update webhooks set name = coalesce(%(name)s, name), url = coalesce(%(url)s, url),
    topics = coalesce(%(topics)s, topics), enabled = coalesce(%(enabled)s, enabled),
    disabled_why = case when %(enabled)s then null else disabled_why end,
    failures = case when %(enabled)s or %(url)s::text is not null then 0 else failures end,
    failing_since = case when %(enabled)s or %(url)s::text is not null then null else failing_since end,
    next_at = case when %(enabled)s or %(url)s::text is not null then clock_timestamp() else next_at end,
    updated_at = clock_timestamp()
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
returning id;

-- remove: Gone, with its secrets and what it was still to be sent.
delete from webhooks where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
returning name;

-- lock: A webhook that is about to be changed.
select id from webhooks where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
for no key update;

-- keep_secret: A sealed secret, which is the newest.
insert into webhook_secrets (id, webhook_id, tenant_id, workspace_id, sealed)
values (%(id)s, %(webhook)s, %(tenant)s, %(workspace)s, %(sealed)s);

-- expire_secret: The newest secret is valid for a while longer, and those before it no more.
with newest as (
    update webhook_secrets set expires_at = clock_timestamp() + make_interval(secs => %(overlap)s)
    where webhook_id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
      and expires_at is null
)
delete from webhook_secrets
where webhook_id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and expires_at is not null;

-- secrets: Every sealed secret that is valid now, the newest first.
select id, sealed from webhook_secrets
where webhook_id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and (expires_at is null or expires_at > clock_timestamp())
order by created_at desc;

-- deliveries: What was sent or is to be, latest first; nothing of documents that the reader may not see.
select o.event_id, o.topic, o.subject, o.payload, o.created_at, d.state, d.attempts, d.status, d.error, d.replays,
    d.ended_at, case when d.state = 'pending' then d.next_at end as next_at
from webhook_deliveries d
join outbox o on o.id = d.outbox_id and o.tenant_id = d.tenant_id and o.workspace_id = d.workspace_id
where d.webhook_id = %(webhook)s::uuid and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and (%(state)s::text is null or d.state = %(state)s)
order by o.id desc offset %(skip)s limit %(limit)s;

-- count_deliveries: How many those are.
select count(*) as total
from webhook_deliveries d
join outbox o on o.id = d.outbox_id and o.tenant_id = d.tenant_id and o.workspace_id = d.workspace_id
where d.webhook_id = %(webhook)s::uuid and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and (%(state)s::text is null or d.state = %(state)s);

-- replay: What has ended is to be sent again: one event, all since a moment, or all; or of those the ones that were given up.
update webhook_deliveries d
set state = 'pending', attempts = 0, failed_at = null, error = null, status = null, ended_at = null, replays = d.replays + 1,
    queued_at = clock_timestamp(), next_at = clock_timestamp()
from outbox o
where o.id = d.outbox_id and o.tenant_id = d.tenant_id and o.workspace_id = d.workspace_id
  and d.webhook_id = %(webhook)s::uuid and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and d.state <> 'pending' and (not %(failed_only)s or d.state = 'dead')
  and (%(event)s::uuid is null or o.event_id = %(event)s) and (%(since)s::timestamptz is null or o.created_at >= %(since)s);

-- close_circuit: Somebody wants it tried now: it is as one that never failed, and its first failure is the first.
update webhooks set failures = 0, failing_since = null, next_at = clock_timestamp()
where id = %(webhook)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;
