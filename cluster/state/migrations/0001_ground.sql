-- Everything that survives a restart. Rows that belong to somebody carry tenant_id (and workspace_id);
-- row-level security is forced on all of them, also for the owner. The application connects as a role
-- that is neither superuser nor BYPASSRLS; scope comes from settings that are local to a transaction.

create extension if not exists vector;

create function aos_tenant() returns uuid language sql stable
    as $$ select nullif(current_setting('aos.tenant', true), '')::uuid $$;
create function aos_workspace() returns uuid language sql stable
    as $$ select nullif(current_setting('aos.workspace', true), '')::uuid $$;
create function aos_principals() returns text[] language sql stable
    as $$ select coalesce(nullif(current_setting('aos.principals', true), ''), '{}')::text[] $$;

-- Who ------------------------------------------------------------------------------------------

create table tenants (
    id uuid primary key default gen_random_uuid(),
    parent_id uuid references tenants,
    name text not null unique check (name <> ''),
    created_at timestamptz not null default now()
);

create table workspaces (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    name text not null check (name <> ''),
    generation_id int,
    previous_generation_id int,
    corpus_version bigint not null default 0,
    created_at timestamptz not null default now(),
    unique (tenant_id, name),
    unique (tenant_id, id)
);

create table users (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    email text not null check (email = lower(email) and email <> ''),
    password_hash text not null,
    must_change_password boolean not null default false,
    role text not null check (role in ('viewer', 'developer', 'operator', 'admin')),
    disabled boolean not null default false,
    created_at timestamptz not null default now(),
    unique (email)
);

create table memberships (
    user_id uuid not null references users on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    role text not null check (role in ('viewer', 'developer', 'operator', 'admin')),
    primary key (user_id, workspace_id)
);

create table refresh_tokens (
    hash text primary key,
    family uuid not null,
    tenant_id uuid not null references tenants on delete cascade,
    user_id uuid not null references users on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    expires_at timestamptz not null,
    used_at timestamptz,
    created_at timestamptz not null default now()
);
create index on refresh_tokens (family);

create table api_keys (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    user_id uuid not null references users on delete cascade,
    name text not null,
    prefix text not null,
    hash text not null unique,
    role text not null check (role in ('viewer', 'developer', 'operator', 'admin')),
    created_at timestamptz not null default now(),
    last_used_at timestamptz,
    revoked_at timestamptz
);

create table agents (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    name text not null check (name <> ''),
    description text not null default '',
    system_prompt text not null default '',
    auto_link_uploads boolean not null default false,
    config jsonb not null default '{}',
    created_at timestamptz not null default now(),
    unique (workspace_id, name)
);

-- Documents ------------------------------------------------------------------------------------

create table documents (
    id text primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    origin text not null,
    filename text not null,
    file_type text not null,
    source_type text not null check (source_type in ('upload', 'folder')),
    status text not null default 'pending'
        check (status in ('pending', 'processing', 'completed', 'partial', 'embedding_pending', 'failed')),
    failure jsonb,
    readers text[] not null default '{}',
    tags text[] not null default '{}',
    description text not null default '',
    metadata jsonb not null default '{}',
    created_by uuid,
    current_version text,
    chunk_count int not null default 0,
    has_embeddings boolean not null default false,
    upload_date timestamptz not null default now(),
    processed_date timestamptz,
    unique (workspace_id, origin)
);
create index on documents (workspace_id, upload_date desc, id);

create table document_versions (
    id text primary key,
    document_id text not null references documents on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    file_hash text not null,
    file_size bigint not null,
    kind text not null,
    location text not null,
    page_count int not null,
    reads bigint not null default 0,
    created_at timestamptz not null default clock_timestamp()
);
create index on document_versions (document_id);
create index on document_versions (workspace_id, file_hash);

create table pages (
    version_id text not null references document_versions on delete cascade,
    number int not null check (number >= 1),
    id text not null unique,
    document_id text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    text text not null,
    words jsonb not null default '[]',
    engine text not null,
    confidence real,
    attempts jsonb not null default '[]',
    ms int not null,
    fingerprint text not null,
    failure jsonb,
    read_at timestamptz not null default now(),
    primary key (version_id, number)
);

create table document_chunks (
    id text primary key,
    document_id text not null,
    version_id text not null references document_versions on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    readers text[] not null default '{}',
    chunker text not null,
    chunk_index int not null,
    text text not null,
    search_text text not null,
    lexemes tsvector generated always as (to_tsvector('english', search_text)) stored,
    page_start int not null,
    page_end int not null,
    spans jsonb not null,
    boxes jsonb not null default '[]',
    headings text[] not null default '{}',
    metadata jsonb not null default '{}',
    unique (version_id, chunker, chunk_index)
);
create index on document_chunks (workspace_id, chunker);
create index on document_chunks (document_id);
create index document_chunks_lexemes on document_chunks using gin (lexemes);

create table generations (
    id int generated always as identity primary key,
    embedder text not null,
    dimension int not null,
    chunker text not null,
    fingerprint text not null,
    build int not null default 1,
    created_at timestamptz not null default now(),
    unique (fingerprint, build)
);

create table embeddings (
    generation_id int not null references generations on delete cascade,
    chunk_id text not null references document_chunks on delete cascade,
    document_id text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    readers text[] not null default '{}',
    embedding vector not null,
    primary key (generation_id, chunk_id)
) partition by list (generation_id);

-- What a generation holds of a version: `reads` is the version's own counter when its text was taken, so text that
-- was read since shows as missing.
create table indexed_versions (
    generation_id int not null references generations on delete cascade,
    version_id text not null references document_versions on delete cascade,
    document_id text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    reads bigint not null,
    chunks int not null,
    embedded boolean not null,
    primary key (generation_id, version_id)
);
create index on indexed_versions (version_id);

create table document_agent_links (
    agent_id uuid not null references agents on delete cascade,
    document_id text not null references documents on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    created_at timestamptz not null default now(),
    primary key (agent_id, document_id)
);
create index on document_agent_links (document_id);

-- Conversations --------------------------------------------------------------------------------

create table sessions (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    agent_id uuid references agents on delete cascade,
    user_id uuid not null,
    title text not null default '',
    created_at timestamptz not null default now()
);

create table messages (
    session_id uuid not null references sessions on delete cascade,
    seq int not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    role text not null check (role in ('user', 'assistant', 'tool')),
    content jsonb not null,
    created_at timestamptz not null default now(),
    primary key (session_id, seq)
);

-- The ledger -----------------------------------------------------------------------------------

create table jobs (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    kind text not null,
    lane text not null check (lane in ('small', 'bulk')),
    state text not null default 'queued'
        check (state in ('queued', 'running', 'completed', 'partial', 'failed', 'cancelled')),
    phase text not null default 'plan' check (phase in ('plan', 'run')),
    payload jsonb not null default '{}',
    idempotency_key text,
    request_hash text,
    created_by uuid,
    owner text,
    fence bigint not null default 0,
    lease_until timestamptz,
    cancel_requested boolean not null default false,
    attempts int not null default 0,
    lapses int not null default 0,
    error text,
    created_at timestamptz not null default now(),
    started_at timestamptz,
    finished_at timestamptz,
    unique (workspace_id, idempotency_key)
);
create index jobs_waiting on jobs (lane, created_at) where state in ('queued', 'running');

create table units (
    job_id uuid not null references jobs on delete cascade,
    stage text not null,
    key text not null,
    subject text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    position bigint generated always as identity,
    fingerprint text not null default '',
    payload jsonb not null default '{}',
    status text not null default 'pending' check (status in ('pending', 'done', 'failed', 'unchanged')),
    attempts int not null default 0,
    failure jsonb,
    settled_at timestamptz,
    primary key (job_id, stage, key)
);
create index units_pending on units (job_id, stage, position) where status = 'pending';
create index units_pending_subject on units (job_id, subject, stage) where status = 'pending';
create index units_failed on units (job_id, stage, position) where status = 'failed';

create table job_progress (
    job_id uuid not null references jobs on delete cascade,
    stage text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    expected bigint not null default 0,
    done bigint not null default 0,
    failed bigint not null default 0,
    unchanged bigint not null default 0,
    primary key (job_id, stage)
);

create table tenant_turns (
    tenant_id uuid not null references tenants on delete cascade,
    lane text not null,
    served bigint not null default 0,
    primary key (tenant_id, lane)
);

create table event_streams (
    stream text primary key,
    tenant_id uuid not null,
    workspace_id uuid not null,
    last_seq bigint not null
);

create table events (
    stream text not null,
    seq bigint not null,
    type text not null,
    payload jsonb not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    at timestamptz not null default clock_timestamp(),
    primary key (stream, seq)
);

create table outbox (
    id bigint generated always as identity primary key,
    tenant_id uuid not null,
    workspace_id uuid not null,
    topic text not null,
    payload jsonb not null,
    created_at timestamptz not null default now(),
    sent_at timestamptz
);

create table audit (
    tenant_id uuid not null,
    seq bigint not null,
    at timestamptz not null,
    actor text not null,
    action text not null,
    object text not null,
    outcome text not null check (outcome in ('done', 'denied', 'failed')),
    detail jsonb not null default '{}',
    previous text not null,
    hash text not null,
    primary key (tenant_id, seq)
);

create table system_settings (
    key text primary key,
    value jsonb not null,
    updated_at timestamptz not null default now()
);

-- Functions that read across tenants and return ids only: find a login, claim a job (the third, due schedules,
-- arrives with the scheduler). Of the other definers below two keep the round robin's counters and say whether
-- anybody waits, two are DDL for generations; none returns a row of a tenant. ------------------------------

create function find_login(login_kind text, login_value text)
returns table (user_id uuid, tenant_id uuid, workspace_id uuid, key_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    select u.id, u.tenant_id, null::uuid, null::uuid from users u
    where login_kind = 'email' and u.email = lower(login_value)
    union all
    select k.user_id, k.tenant_id, k.workspace_id, k.id from api_keys k
    where login_kind = 'api_key' and k.hash = login_value and k.revoked_at is null
    union all
    select r.user_id, r.tenant_id, r.workspace_id, null::uuid from refresh_tokens r
    where login_kind = 'refresh' and r.hash = login_value
$$;

-- The waiting job of the tenant that was served least in this lane; a job whose lease has run out waits again.
create function claim_job(claim_lane text, claim_owner text, lease interval)
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
          and (j.state = 'queued' or (j.state = 'running' and j.lease_until < clock_timestamp()))
        order by coalesce(t.served, 0), j.created_at, j.id
        for update of j skip locked
        limit 1
    )
    update jobs j
    set state = 'running', owner = claim_owner, fence = j.fence + 1, lease_until = clock_timestamp() + lease,
        attempts = j.attempts + 1, lapses = j.lapses + (j.state = 'running')::int, started_at = coalesce(j.started_at, clock_timestamp())
    from next where j.id = next.id
    returning j.id, j.tenant_id, j.workspace_id, j.fence;
end $$;

-- Counters of the round robin, not data of a tenant. Who comes late or back starts level with the least served of
-- those that wait: nobody saves up turns while idle, and nobody pays for last week.
create function record_turn(turn_tenant uuid, turn_lane text, units bigint) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into tenant_turns as mine (tenant_id, lane, served)
    select turn_tenant, turn_lane, greatest(units, waiting.least)
    from (select coalesce(min(t.served), 0) as least from tenant_turns t
          where t.lane = turn_lane and t.tenant_id <> turn_tenant and exists (
              select 1 from jobs j
              where j.tenant_id = t.tenant_id and j.lane = t.lane and j.state in ('queued', 'running'))) waiting
    on conflict (tenant_id, lane) do update set served = greatest(mine.served + units, excluded.served)
$$;

-- Whether a worker should end its turn: says only that somebody waits, never who.
create function others_wait(waiting_lane text, but_tenant uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
    select exists (select 1 from jobs where lane = waiting_lane and tenant_id <> but_tenant
                   and (state = 'queued' or (state = 'running' and lease_until < clock_timestamp())))
$$;

-- A generation and its partition: DDL, hence the definer's rights; no tenant's row is touched.
create function open_generation(g_embedder text, g_dimension int, g_chunker text, g_fingerprint text, fresh boolean)
returns int language plpgsql security definer set search_path = public, pg_temp as $$
declare found_id int;
begin
    perform pg_advisory_xact_lock(hashtext('aos.generations'));
    select id into found_id from generations where fingerprint = g_fingerprint order by build desc limit 1;
    if found_id is not null and not fresh then
        return found_id;
    end if;
    insert into generations (embedder, dimension, chunker, fingerprint, build)
    values (g_embedder, g_dimension, g_chunker, g_fingerprint,
            1 + coalesce((select max(build) from generations where fingerprint = g_fingerprint), 0))
    returning id into found_id;
    execute format('create table embeddings_%s partition of embeddings for values in (%s)', found_id, found_id);
    execute format('create index on embeddings_%s (workspace_id, chunk_id)', found_id);
    execute format('create index on embeddings_%s (chunk_id)', found_id);
    execute format('create index on embeddings_%s (document_id)', found_id);
    execute format('alter table embeddings_%s enable row level security', found_id);
    execute format('alter table embeddings_%s force row level security', found_id);
    execute format('create policy belongs on embeddings_%s to public using (%s)', found_id,
        'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()) and (readers = ''{}'' '
        'or readers && (select aos_principals()) or (select aos_principals()) @> array[''*''])');
    execute format('grant select, insert, update, delete on embeddings_%s to aos_app', found_id);
    return found_id;
end $$;

-- The graph is built once a generation has outgrown exact scans; loading an unindexed table is 300 times cheaper.
create function index_generation(g_id int, from_rows bigint) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare total bigint; dims int;
begin
    perform pg_advisory_xact_lock(hashtext('aos.generations'));
    if to_regclass(format('embeddings_%s_hnsw', g_id)) is not null then return false; end if;
    select dimension into dims from generations where id = g_id;
    if dims is null then return false; end if;
    execute format('select count(*) from (select 1 from embeddings_%s limit %s) rows', g_id, from_rows) into total;
    if total < from_rows then return false; end if;
    -- pgvector before 0.8.2 can overflow in parallel builds.
    perform set_config('max_parallel_maintenance_workers', '0', true);
    perform set_config('maintenance_work_mem', '512MB', true);
    execute format('create index embeddings_%s_hnsw on embeddings_%s using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops)',
        g_id, g_id, dims);
    return true;
end $$;

create function append_event(e_stream text, e_type text, e_payload jsonb) returns bigint
language plpgsql set search_path = public, pg_temp as $$
declare next_seq bigint;
begin
    insert into event_streams (stream, tenant_id, workspace_id, last_seq)
    values (e_stream, aos_tenant(), aos_workspace(), 1)
    on conflict (stream) do update set last_seq = event_streams.last_seq + 1
    returning last_seq into next_seq;
    insert into events (stream, seq, type, payload, tenant_id, workspace_id)
    values (e_stream, next_seq, e_type, e_payload, aos_tenant(), aos_workspace());
    return next_seq;
end $$;

-- Each entry's hash covers the one before it, so a removed or altered entry breaks the chain of its tenant.
create function append_audit(a_actor text, a_action text, a_object text, a_outcome text, a_detail jsonb)
returns bigint language plpgsql set search_path = public, pg_temp as $$
declare last audit%rowtype; moment timestamptz := clock_timestamp(); next_seq bigint; before text;
begin
    perform pg_advisory_xact_lock(hashtextextended('aos.audit.' || aos_tenant()::text, 0));
    select * into last from audit where tenant_id = aos_tenant() order by seq desc limit 1;
    next_seq := coalesce(last.seq, 0) + 1;
    before := coalesce(last.hash, '');
    insert into audit (tenant_id, seq, at, actor, action, object, outcome, detail, previous, hash)
    values (aos_tenant(), next_seq, moment, a_actor, a_action, a_object, a_outcome, a_detail, before,
            audit_hash(before, next_seq, moment, a_actor, a_action, a_object, a_outcome, a_detail));
    return next_seq;
end $$;

create function audit_hash(before text, seq bigint, at timestamptz, actor text, action text, object text, outcome text, detail jsonb)
returns text language sql immutable as $$
    select encode(sha256(convert_to(jsonb_build_array(
        before, seq, extract(epoch from at), actor, action, object, outcome, detail)::text, 'UTF8')), 'hex')
$$;

create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'the audit trail is append-only';
end $$;
create trigger audit_is_append_only before update or delete on audit for each row execute function refuse_change();
create trigger audit_is_not_truncated before truncate on audit for each statement execute function refuse_change();

-- Row-level security -----------------------------------------------------------------------------

do $$
declare
    name text;
    by_tenant text[] := array['users', 'memberships', 'refresh_tokens', 'api_keys', 'audit', 'workspaces'];
    by_workspace text[] := array['agents', 'sessions', 'messages', 'jobs',
        'units', 'job_progress', 'event_streams', 'events', 'outbox'];
    by_reader text[] := array['documents', 'document_chunks', 'embeddings'];
    by_document text[] := array['document_versions', 'pages', 'document_agent_links', 'indexed_versions'];
    tenant_rule text := 'tenant_id = (select aos_tenant())';
    workspace_rule text := tenant_rule || ' and workspace_id = (select aos_workspace())';
    reader_rule text := workspace_rule || ' and (readers = ''{}'' or readers && (select aos_principals())'
        ' or (select aos_principals()) @> array[''*''])';
begin
    foreach name in array by_tenant loop
        execute format('create policy belongs on %I using (%s)', name, tenant_rule);
    end loop;
    foreach name in array by_workspace loop
        execute format('create policy belongs on %I using (%s)', name, workspace_rule);
    end loop;
    foreach name in array by_reader loop
        execute format('create policy belongs on %I using (%s)', name, reader_rule);
    end loop;
    -- A page is seen by whoever sees its document; the inner query is under documents' own policy.
    foreach name in array by_document loop
        execute format('create policy belongs on %I using (%s and exists '
            '(select 1 from documents d where d.id = document_id))', name, workspace_rule);
    end loop;
    execute 'create policy belongs on tenants using (id = (select aos_tenant()) or parent_id = (select aos_tenant()))';
    foreach name in array by_tenant || by_workspace || by_reader || by_document || array['tenants', 'tenant_turns'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
    end loop;
end $$;

do $$ begin
    if not exists (select 1 from pg_roles where rolname = 'aos_app') then
        create role aos_app login;
    end if;
end $$;
grant usage on schema public to aos_app;
grant select, insert, update, delete on all tables in schema public to aos_app;
revoke all on tenant_turns from aos_app;
revoke update, delete, truncate on audit from aos_app;
revoke insert, update, delete on generations from aos_app;
grant usage on all sequences in schema public to aos_app;
