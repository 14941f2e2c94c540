-- Uploads that come in parts, until they are documents: what was announced, and what of it has arrived. Bytes are not here.
create table upload_sessions (
    id uuid primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    user_id uuid,
    protocol text not null check (protocol in ('parts', 'tus')),
    filename text not null check (filename <> ''),
    content_type text not null default '',
    total_bytes bigint not null check (total_bytes > 0),
    part_bytes bigint not null check (part_bytes > 0),
    file_hash text check (file_hash ~ '^[0-9a-f]{64}$'),
    options jsonb not null default '{}',
    state text not null default 'open' check (state in ('open', 'completing', 'failed', 'completed', 'aborted')),
    reason text not null default '',
    -- Who puts it together now, and until when nobody else does; and where each who tried has put the whole.
    claim uuid,
    claimed_until timestamptz,
    wholes text[] not null default '{}',
    document_id text,
    job_id uuid,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    check ((state = 'completing') = (claim is not null))
);
create index upload_sessions_of_a_person on upload_sessions (workspace_id, user_id, created_at desc);
create index upload_sessions_by_end on upload_sessions (expires_at);

create table upload_parts (
    session_id uuid not null references upload_sessions on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    number int not null check (number >= 1),
    location text not null,
    size bigint not null check (size > 0),
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    primary key (session_id, number)
);

do $$
declare
    name text;
begin
    foreach name in array array['upload_sessions', 'upload_parts'] loop
        execute format('create policy belongs on %I using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()))', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

-- Uploads that have run out and that nobody puts together, as ids: one of the functions that look across tenants to find work.
create function ended_uploads(now_at timestamptz, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    select s.id, s.tenant_id, s.workspace_id from upload_sessions s
    where s.expires_at <= now_at and coalesce(s.claimed_until, '-infinity') <= now_at
    order by s.expires_at limit most
$$;
revoke execute on function ended_uploads(timestamptz, int) from public;
grant execute on function ended_uploads(timestamptz, int) to aos_app;
