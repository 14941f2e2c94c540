-- Agents that act: connections to models, runs with their journals, approvals, what is remembered, what was spent.

alter table tenants add column budget_usd numeric;
alter table agents add column updated_at timestamptz not null default now();

-- An agent sees exactly its linked documents, or, where its owner says so, those of the whole workspace.
alter table agents add column whole_workspace boolean not null default false;
create or replace function searchable_documents(
    s_tenant uuid, s_workspace uuid, s_type text, s_file text, s_from timestamptz, s_to timestamptz,
    s_documents text[], s_agent uuid)
returns table (id text, version_id text, chunk_count int, upload_date timestamptz)
language sql stable as $$
    select d.id, d.current_version, d.chunk_count, d.upload_date
    from documents d
    where d.tenant_id = s_tenant and d.workspace_id = s_workspace and d.current_version is not null
      and (s_type is null or d.file_type = s_type)
      and (s_file is null or position(lower(s_file) in lower(d.filename)) > 0)
      and (s_from is null or d.upload_date >= s_from)
      and (s_to is null or d.upload_date <= s_to)
      and (s_documents is null or d.id = any(s_documents))
      and (s_agent is null
           or exists (select from document_agent_links l
                      where l.agent_id = s_agent and l.document_id = d.id and l.workspace_id = s_workspace)
           or exists (select from agents a
                      where a.id = s_agent and a.workspace_id = s_workspace and a.whole_workspace))
$$;
alter table agents add column metadata jsonb not null default '{}';

-- `sealed_key` is ciphertext (AES-256-GCM envelope, see cluster/state/vault.py); prices are USD for a million tokens;
-- `endpoint` is the address that answered when candidates were probed.
create table llm_connections (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    name text not null check (name <> ''),
    base_url text not null,
    provider text not null,
    model text not null,
    auth_mode text not null default 'bearer' check (auth_mode in ('bearer', 'api_key', 'basic', 'custom', 'none')),
    auth_header text,
    sealed_key bytea,
    supports_tools boolean,
    price_in numeric not null default 0 check (price_in >= 0),
    price_out numeric not null default 0 check (price_out >= 0),
    seconds real not null default 120 check (seconds > 0),
    enabled boolean not null default true,
    endpoint text,
    probed_at timestamptz,
    created_at timestamptz not null default now(),
    unique (workspace_id, name)
);

-- Conversations: a client may name its sessions; a message knows the run that it belongs to.
alter table sessions add column key text;
alter table sessions add column status text not null default 'open' check (status in ('open', 'closed'));
alter table sessions add column updated_at timestamptz not null default now();
create unique index sessions_by_key on sessions (workspace_id, user_id, key) where key is not null;
create index on sessions (workspace_id, user_id, updated_at desc);
alter table messages add column run_id uuid;

create table session_summaries (
    session_id uuid primary key references sessions on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    upto_seq int not null,
    summary text not null,
    updated_at timestamptz not null default now()
);

create table facts (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    session_id uuid not null references sessions on delete cascade,
    user_id uuid not null,
    category text not null check (category in ('decision', 'topic', 'preference', 'open_question', 'other')),
    importance text not null check (importance in ('high', 'medium', 'low')),
    fact text not null check (fact <> ''),
    created_at timestamptz not null default now(),
    unique (session_id, fact)
);

-- Runs -----------------------------------------------------------------------------------------

-- `attended`: somebody reads the stream; a run whose owner died is then interrupted and taken up when asked for, while
-- an unattended one (resumed by a decision) is claimed again by whoever lives. `input` is the frozen turn.
create table runs (
    id uuid primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    session_id uuid not null references sessions on delete cascade,
    agent_id uuid not null references agents on delete cascade,
    user_id uuid not null,
    parent_id uuid references runs on delete cascade,
    depth int not null default 0 check (depth between 0 and 3),
    path text not null check (path in ('analytics', 'documents', 'general')),
    state text not null default 'queued'
        check (state in ('queued', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'interrupted')),
    attended boolean not null default true,
    input jsonb not null,
    seed bigint not null,
    owner text,
    fence bigint not null default 0,
    lease_until timestamptz,
    lapses int not null default 0,
    cancel_requested boolean not null default false,
    outcome jsonb,
    error jsonb,
    prompt_tokens bigint not null default 0,
    completion_tokens bigint not null default 0,
    cost_usd numeric not null default 0,
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz
);
create index on runs (workspace_id, created_at desc);
create index on runs (session_id, created_at);
create index runs_waiting_for_an_owner on runs (created_at) where state in ('queued', 'running');

-- The journal. A step is `started` before an effect that must not happen twice, and `done` or `failed` with its reply.
create table run_steps (
    run_id uuid not null references runs on delete cascade,
    seq int not null check (seq >= 1),
    tenant_id uuid not null,
    workspace_id uuid not null,
    kind text not null,
    name text not null,
    request jsonb not null,
    request_hash text not null,
    state text not null check (state in ('started', 'done', 'failed')),
    reply jsonb,
    ms int not null default 0,
    prompt_tokens int not null default 0,
    completion_tokens int not null default 0,
    cost_usd numeric not null default 0,
    at timestamptz not null default clock_timestamp(),
    primary key (run_id, seq)
);
create index run_steps_begun on run_steps (run_id) where state = 'started' and kind = 'tool';

-- `digest` binds a decision to tool and arguments; `execution` is what became of an approved action.
create table approvals (
    id uuid primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    run_id uuid not null references runs on delete cascade,
    step int not null,
    session_id uuid not null,
    agent_id uuid not null,
    requested_by uuid not null,
    category text not null default 'approval' check (category in ('approval', 'reconcile')),
    tool text not null,
    arguments jsonb not null,
    digest text not null,
    reason text not null default '',
    state text not null default 'pending' check (state in ('pending', 'approved', 'rejected', 'expired')),
    execution text not null default 'none' check (execution in ('none', 'started', 'done', 'failed', 'needs_reconcile')),
    decided_arguments jsonb,
    decided_digest text,
    reviewer uuid,
    notes text not null default '',
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    decided_at timestamptz,
    executed_at timestamptz,
    unique (run_id, step, category)
);
create index approvals_pending on approvals (workspace_id, created_at) where state = 'pending';

-- What agents cost by calendar month; budgets are held against it.
create table spend (
    workspace_id uuid not null references workspaces on delete cascade,
    agent_id uuid not null references agents on delete cascade,
    month date not null,
    tenant_id uuid not null references tenants on delete cascade,
    calls bigint not null default 0,
    prompt_tokens bigint not null default 0,
    completion_tokens bigint not null default 0,
    cost_usd numeric not null default 0,
    primary key (workspace_id, agent_id, month)
);

-- What the caller's tenant has spent in a month, in all its workspaces: row-level security shows each only its own.
create function tenant_spent(of_month date) returns numeric
language sql stable security definer set search_path = public, pg_temp as $$
    select coalesce(sum(cost_usd), 0) from spend where tenant_id = aos_tenant() and month = of_month
$$;

-- Nothing of a run that has ended waits for a person, but for the question whether something has happened; what was begun
-- and not ended is shown as such until somebody has said. An approval's action is the very next step.
create function end_approvals(e_run uuid, e_tenant uuid, e_workspace uuid) returns void
language sql set search_path = public, pg_temp as $$
    update approvals set
        state = case when category = 'approval' and state = 'pending' then 'expired' else state end,
        decided_at = case when category = 'approval' and state = 'pending' then clock_timestamp() else decided_at end,
        execution = case when execution = 'started' then 'needs_reconcile' else execution end
    where run_id = e_run and tenant_id = e_tenant and workspace_id = e_workspace
      and ((category = 'approval' and state = 'pending') or execution = 'started');
    update approvals a
    set execution = case when said.decided_arguments ->> 'found' = 'happened' then 'done' else 'failed' end
    from approvals said
    where a.run_id = e_run and a.tenant_id = e_tenant and a.workspace_id = e_workspace
      and a.category = 'approval' and a.execution = 'needs_reconcile'
      and said.run_id = a.run_id and said.step = a.step + 1 and said.category = 'reconcile'
      and said.state in ('approved', 'rejected') and said.execution = 'none';
$$;

-- The end, with its last event, of a run that somebody wants to end and that nobody carries; the run is locked.
create function cancel_run(c_run uuid, c_tenant uuid, c_workspace uuid) returns void
language plpgsql set search_path = public, pg_temp as $$
declare number bigint;
begin
    update runs set state = 'cancelled', owner = null, lease_until = null, finished_at = clock_timestamp()
    where id = c_run and tenant_id = c_tenant and workspace_id = c_workspace;
    perform end_approvals(c_run, c_tenant, c_workspace);
    insert into event_streams as s (stream, tenant_id, workspace_id, last_seq)
    values ('run:' || c_run, c_tenant, c_workspace, 1)
    on conflict (stream) do update set last_seq = s.last_seq + 1 returning s.last_seq into number;
    insert into events (stream, seq, type, payload, tenant_id, workspace_id)
    values ('run:' || c_run, number, 'status', '{"state": "cancelled"}', c_tenant, c_workspace);
end $$;

-- The run that waits longest for an owner, as an id, first of the tenants that have fewest carried in the background.
-- One of the functions that look across tenants to find work. On its way it expires approvals nobody decided, which
-- takes the waiting run further, and ends or interrupts runs whose owner died or never came. Everything locks a run
-- before its approvals; a run that somebody else has locked is left for the next time.
create function claim_run(run_owner text, lease interval)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
    late uuid[];
    gone record;
begin
    late := array(
        select r.id from runs r
        where r.state = 'waiting' and exists (select from approvals a
            where a.run_id = r.id and a.state = 'pending' and a.category = 'approval'
              and a.expires_at < clock_timestamp())
        for update of r skip locked);
    update approvals set state = 'expired', decided_at = clock_timestamp()
    where run_id = any(late) and state = 'pending' and category = 'approval' and expires_at < clock_timestamp();
    update runs set state = 'queued', attended = false where id = any(late);
    -- A cancel that was accepted outlives the owner that was to carry it out.
    for gone in
        select r.id, r.tenant_id, r.workspace_id from runs r
        where r.cancel_requested
          and (r.state = 'queued' or (r.state = 'running' and r.lease_until < clock_timestamp()))
        for update of r skip locked
    loop
        perform cancel_run(gone.id, gone.tenant_id, gone.workspace_id);
    end loop;
    update runs set state = 'interrupted', owner = null, lease_until = null
    where id in (select r.id from runs r
                 where r.state in ('queued', 'running') and r.attended and r.lease_until < clock_timestamp()
                 for update of r skip locked);
    -- A run that ends its executor each time must not end every executor that there is.
    for gone in
        select r.id, r.tenant_id, r.workspace_id from runs r
        where r.state = 'running' and r.lease_until < clock_timestamp() and r.lapses >= 8
        for update of r skip locked
    loop
        update runs set state = 'failed', finished_at = clock_timestamp(), owner = null, lease_until = null,
            error = jsonb_build_object('code', 'crashes', 'detail', format('its executor ended %s times', lapses))
        where id = gone.id;
        perform end_approvals(gone.id, gone.tenant_id, gone.workspace_id);
    end loop;
    return query
    with next as (
        select r.id from runs r
        left join (select o.tenant_id, count(*) as carried from runs o
                   where o.state = 'running' and not o.attended and o.lease_until > clock_timestamp()
                   group by o.tenant_id) busy on busy.tenant_id = r.tenant_id
        where r.parent_id is null and not r.attended and not r.cancel_requested
          and (r.state = 'queued' or (r.state = 'running' and r.lease_until < clock_timestamp()))
        order by coalesce(busy.carried, 0), r.created_at, r.id
        for update of r skip locked
        limit 1
    )
    update runs r
    set lapses = r.lapses + (r.state = 'running')::int, state = 'running', owner = run_owner, fence = r.fence + 1,
        lease_until = clock_timestamp() + lease, started_at = coalesce(r.started_at, clock_timestamp())
    from next where r.id = next.id
    returning r.id, r.tenant_id, r.workspace_id, r.fence;
end $$;

-- Runs that ended or were interrupted in the middle of an action of which nobody is asked what became; an action that
-- was repeated on somebody's word and broke off again is in doubt again.
create function doubtful_runs(most int) returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    select distinct r.id, r.tenant_id, r.workspace_id
    from run_steps s join runs r on r.id = s.run_id
    where s.kind = 'tool' and s.state = 'started' and r.state in ('interrupted', 'failed', 'cancelled')
      and not exists (select from approvals a
                      where a.run_id = s.run_id and a.step = s.seq and a.category = 'reconcile'
                        and not (a.state = 'approved' and a.execution in ('started', 'needs_reconcile')))
    limit most
$$;

do $$
declare
    name text;
    rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    foreach name in array array['llm_connections', 'session_summaries', 'facts', 'runs', 'run_steps', 'approvals', 'spend']
    loop
        execute format('create policy belongs on %I using (%s)', name, rule);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;
