-- Events that go out: the outbox, which stood unused, holds each event that a webhook of its workspace wants, written in the
-- transaction of what it tells of. Payloads hold ids and states, no text of a document.
alter table outbox drop column sent_at;
alter table outbox alter column created_at set default clock_timestamp();
alter table outbox add column event_id uuid not null default gen_random_uuid();
alter table outbox add column subject text not null default '';  -- events of one subject go out in their order
alter table outbox add column readers text[] not null default '{}';
alter table outbox add unique (event_id);
create index outbox_of_subject on outbox (workspace_id, subject);

create table webhooks (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    name text not null check (char_length(name) between 1 and 200),
    url text not null check (char_length(url) between 1 and 2000),
    topics text[] not null check (topics <> '{}'),  -- a topic, all of a family (`job.*`), or `*`
    owner_id uuid not null references users on delete cascade,
    role text check (role in ('viewer', 'developer', 'operator', 'admin')),  -- sees as this role alone; null: as its owner
    enabled boolean not null default true,
    disabled_why text,
    failures int not null default 0,  -- in a row
    failing_since timestamptz,
    error text,
    succeeded_at timestamptz,
    next_at timestamptz not null default clock_timestamp(),  -- the circuit is open until then
    lease_owner text,
    lease_until timestamptz,
    fence bigint not null default 0,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    unique (workspace_id, name)
);

-- Secrets that sign, sealed; the newest has no end, the one before it may still be checked for a while.
create table webhook_secrets (
    id uuid primary key,
    webhook_id uuid not null references webhooks on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    sealed bytea not null,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz
);
create index on webhook_secrets (webhook_id);

create table webhook_deliveries (
    webhook_id uuid not null references webhooks on delete cascade,
    outbox_id bigint not null references outbox on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    subject text not null,
    state text not null default 'pending' check (state in ('pending', 'delivered', 'dead', 'withheld')),
    attempts int not null default 0,
    queued_at timestamptz not null default clock_timestamp(),  -- or replayed
    next_at timestamptz not null default clock_timestamp(),
    failed_at timestamptz,  -- for the first time
    status int,
    error text,
    ended_at timestamptz,
    replays int not null default 0,
    primary key (webhook_id, outbox_id)
);
create index on webhook_deliveries (outbox_id);
create index webhook_deliveries_pending on webhook_deliveries (webhook_id, outbox_id) where state = 'pending';
create index webhook_deliveries_of_subject on webhook_deliveries (webhook_id, subject, outbox_id) where state = 'pending';

-- Events that came in: each is taken once, however often it is sent.
create table event_receipts (
    workspace_id uuid not null references workspaces on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    event_id text not null check (char_length(event_id) between 1 and 200),
    request_hash text not null,
    about text not null,  -- the document
    job_id uuid,
    received_at timestamptz not null default clock_timestamp(),
    primary key (workspace_id, event_id)
);
create index on event_receipts (received_at);

do $$
declare
    name text;
    belongs text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    foreach name in array array['webhooks', 'webhook_secrets', 'webhook_deliveries', 'event_receipts'] loop
        execute format('create policy belongs on %I using (%s)', name, belongs);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
    -- Who may not read a document is not told of it either, whether by a webhook or by a list of what was sent.
    drop policy belongs on outbox;
    execute format('create policy belongs on outbox using (%s and (readers = ''{}'' or readers && (select aos_principals())'
        ' or (select aos_principals()) @> array[''*'']))', belongs);
end $$;

-- An event for the webhooks of a workspace that want it; nothing is written where none does. Only triggers call it.
create function announce_event(
    e_tenant uuid, e_workspace uuid, e_topic text, e_subject text, e_payload jsonb, e_readers text[]) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    wanted text[] := array[e_topic, split_part(e_topic, '.', 1) || '.*', '*'];
    made bigint;
begin
    if not exists (select from webhooks w where w.workspace_id = e_workspace and w.enabled and w.topics && wanted) then
        return;
    end if;
    insert into outbox (tenant_id, workspace_id, topic, subject, payload, readers)
    values (e_tenant, e_workspace, e_topic, e_subject, e_payload, e_readers) returning id into made;
    insert into webhook_deliveries (webhook_id, outbox_id, tenant_id, workspace_id, subject)
    select w.id, made, e_tenant, e_workspace, e_subject from webhooks w
    where w.workspace_id = e_workspace and w.enabled and w.topics && wanted;
end $$;

create function announce_job() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare topic text;
begin
    -- A running job that is queued again only lets others have their turn.
    topic := case
        when new.state = 'queued' and (tg_op = 'INSERT' or old.state <> 'running') then 'job.queued'
        when new.state = 'failed' then 'job.failed'
        when new.state in ('completed', 'partial', 'cancelled') then 'job.finished' end;
    if topic is not null then
        perform announce_event(new.tenant_id, new.workspace_id, topic, 'job:' || new.id, jsonb_build_object(
            'job_id', new.id, 'kind', new.kind, 'state', new.state, 'created_by', new.created_by), '{}');
    end if;
    return null;
end $$;
create trigger new_jobs_are_announced after insert on jobs for each row execute function announce_job();
create trigger jobs_are_announced after update of state on jobs
    for each row when (new.state is distinct from old.state) execute function announce_job();

create function announce_document() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    doc documents%rowtype;
    about jsonb;
    topic text;
begin
    if tg_op = 'DELETE' then doc := old; else doc := new; end if;
    about := jsonb_build_object('document_id', doc.id, 'status', doc.status, 'version_id', doc.current_version,
                                'parent_id', doc.parent_id, 'created_by', doc.created_by);
    if tg_op = 'DELETE' then
        perform announce_event(doc.tenant_id, doc.workspace_id, 'document.deleted', 'document:' || doc.id, about, doc.readers);
        return null;
    end if;
    if tg_op = 'UPDATE' and old.current_version <> new.current_version then
        perform announce_event(doc.tenant_id, doc.workspace_id, 'document.version', 'document:' || doc.id,
                               about || jsonb_build_object('previous_version_id', old.current_version), doc.readers);
    end if;
    topic := case when doc.status in ('completed', 'degraded', 'partial') then 'document.ready'
                  when doc.status = 'failed' then 'document.failed' end;
    if topic is not null and (tg_op = 'INSERT' or old.status is distinct from new.status) then
        if topic = 'document.failed' then
            about := about || jsonb_build_object('reason', doc.failure->>'reason');
        end if;
        perform announce_event(doc.tenant_id, doc.workspace_id, topic, 'document:' || doc.id, about, doc.readers);
    end if;
    return null;
end $$;
create trigger new_documents_are_announced after insert on documents
    for each row when (new.status <> 'pending') execute function announce_document();
create trigger documents_are_announced after update of status, current_version on documents for each row
    when (new.status is distinct from old.status or new.current_version is distinct from old.current_version)
    execute function announce_document();
create trigger deleted_documents_are_announced after delete on documents
    for each row execute function announce_document();

-- What is not sent yet follows the readers that the document has now.
create function readers_of_events_follow() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update outbox set readers = new.readers
    where workspace_id = new.workspace_id and subject = 'document:' || new.id;
    return null;
end $$;
create trigger events_follow_readers after update of readers on documents
    for each row when (new.readers is distinct from old.readers) execute function readers_of_events_follow();

-- Questions of agents belong to conversations; the rest is for those who may decide.
create function announce_approval() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform announce_event(new.tenant_id, new.workspace_id,
        case when new.state = 'pending' then 'approval.asked' else 'approval.decided' end, 'approval:' || new.id,
        jsonb_build_object('approval_id', new.id, 'run_id', new.run_id, 'agent_id', new.agent_id, 'state', new.state,
                           'category', new.category, 'tool', new.tool, 'requested_by', new.requested_by,
                           'reviewer', new.reviewer), '{role:operator,role:admin}');
    return null;
end $$;
create trigger new_approvals_are_announced after insert on approvals
    for each row when (new.category <> 'input') execute function announce_approval();
create trigger approvals_are_announced after update of state on approvals
    for each row when (new.category <> 'input' and new.state is distinct from old.state) execute function announce_approval();

create function announce_feedback() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform announce_event(new.tenant_id, new.workspace_id, 'feedback.given',
        'feedback:' || new.run_id || ':' || new.user_id,
        jsonb_build_object('run_id', new.run_id, 'user_id', new.user_id, 'thumb', new.thumb), '{role:operator,role:admin}');
    return null;
end $$;
create trigger feedback_is_announced after insert or update on run_feedback
    for each row execute function announce_feedback();

-- A policy of the tenant reaches every workspace.
create function announce_policy() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform announce_event(w.tenant_id, w.id, 'policy.changed', 'policy:' || new.id,
        jsonb_build_object('policy_id', new.id, 'version', new.version, 'active', new.active,
                           'tenant_wide', new.workspace_id is null, 'changed_by', new.created_by), '{role:admin}')
    from workspaces w
    where w.tenant_id = new.tenant_id and (new.workspace_id is null or w.id = new.workspace_id);
    return null;
end $$;
create trigger policies_are_announced after insert on governance_policies
    for each row execute function announce_policy();

-- What retention has deleted, as the trail says it.
create function announce_retention() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform announce_event(w.tenant_id, w.id, 'policy.applied', 'policy:retention',
        jsonb_build_object('class', new.detail->'class', 'days', new.detail->'days', 'deleted', new.detail->'deleted'),
        '{role:admin}')
    from workspaces w where w.tenant_id = new.tenant_id and w.id::text = new.object;
    return null;
end $$;
create trigger retention_is_announced after insert on audit
    for each row when (new.action = 'retention.delete') execute function announce_retention();

-- Webhooks with something to send now, the longest unserved first, under new tokens. Returns ids only.
create function claim_webhooks(claim_owner text, lease interval, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language sql security definer set search_path = public, pg_temp as $$
    with next as (
        select w.id from webhooks w
        where w.enabled and w.next_at <= clock_timestamp() and coalesce(w.lease_until, '-infinity') <= clock_timestamp()
          and exists (
            select from webhook_deliveries d
            where d.webhook_id = w.id and d.state = 'pending' and d.next_at <= clock_timestamp()
              and not exists (select from webhook_deliveries e where e.webhook_id = d.webhook_id and e.state = 'pending'
                              and e.subject = d.subject and e.outbox_id < d.outbox_id))
        order by w.lease_until nulls first, w.id limit most
        for no key update of w skip locked  -- transactions that write events for it hold its key
    )
    update webhooks w set lease_owner = claim_owner, lease_until = clock_timestamp() + lease, fence = w.fence + 1
    from next where w.id = next.id
    returning w.id, w.tenant_id, w.workspace_id, w.fence
$$;

-- Events that nobody is to be sent any more, and receipts, go after a time. How many went; numbers only.
create function prune_webhook_events(keep interval, receipts interval, most int) returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    went bigint;
    more bigint;
begin
    delete from outbox o where o.id in (
        select p.id from outbox p
        where p.created_at < clock_timestamp() - keep
          and not exists (select from webhook_deliveries d where d.outbox_id = p.id
                          and (d.state = 'pending' or d.ended_at > clock_timestamp() - keep))
        order by p.id limit most);
    get diagnostics went = row_count;
    delete from event_receipts r where r.ctid in (
        select q.ctid from event_receipts q where q.received_at < clock_timestamp() - receipts limit most);
    get diagnostics more = row_count;
    return went + more;
end $$;
revoke all on function announce_event, claim_webhooks, prune_webhook_events from public;
grant execute on function claim_webhooks, prune_webhook_events to aos_app;
