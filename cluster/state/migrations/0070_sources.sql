-- Sources that are synchronised: what they are, what of them is here, and what a sync found that waits for a person.

-- `settings` are of its kind; `credential` names one of the workspace's. `readers` are of items that have no rights of
-- their own; `has_rights` is told by the kind: documents of such a source are hidden once its last success is too old.
-- `job_id` is the newest sync: what an older one has left to do is not done any more. `waiting` are removals that a
-- person is to approve, `last_plan` is what the newest sync or dry run came to.
create table sources (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    name text not null check (name <> ''),
    kind text not null check (kind <> ''),
    settings jsonb not null default '{}',
    credential text,
    readers text[] not null default '{}',
    group_names jsonb not null default '{}',
    has_rights boolean not null default false,
    every_minutes int check (every_minutes between 1 and 525600),
    max_removed_percent int not null default 20 check (max_removed_percent between 0 and 100),
    erase_after_days int check (erase_after_days between 0 and 36500),
    stale_after_hours int not null default 72 check (stale_after_hours between 1 and 87600),
    enabled boolean not null default true,
    cursor text,
    job_id uuid,
    waiting jsonb,
    last_plan jsonb,
    last_error jsonb,
    last_success_at timestamptz,
    next_at timestamptz,
    hidden_at timestamptz,
    created_by uuid,
    created_at timestamptz not null default clock_timestamp(),
    unique (workspace_id, name)
);
create index sources_due on sources (next_at) where enabled and next_at is not null;

-- What a source was last seen to hold. No foreign key to the document: an item whose document a person has deleted is
-- remembered, or the next sync would bring it back. `kept_readers` were given by hand before the document left.
create table source_items (
    source_id uuid not null references sources on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    item_id text not null,
    path text not null,
    version text not null default '',
    fingerprint text,
    document_id text,
    rights jsonb,
    kept_readers text[],
    error jsonb,
    awaiting_since timestamptz,
    gone_at timestamptz,
    seen_at timestamptz not null default clock_timestamp(),
    primary key (source_id, item_id)
);
create index on source_items (workspace_id, document_id);

do $$
declare
    name text;
begin
    foreach name in array array['sources', 'source_items'] loop
        execute format('create policy belongs on %I using (tenant_id = (select aos_tenant())'
                       ' and workspace_id = (select aos_workspace()))', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

alter table documents drop constraint documents_source_type_check;
alter table documents add constraint documents_source_type_check check (source_type in ('upload', 'folder', 'source'));

-- Sources whose sync is due, as ids: each is claimed once, and is due again after its own period.
create function claim_due_sources(now_at timestamptz, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql security definer set search_path = public, pg_temp as $$
    with due as (
        select s.id from sources s
        where s.enabled and s.next_at <= now_at and s.every_minutes is not null
        order by s.next_at, s.id for update skip locked limit most)
    update sources s set next_at = now_at + make_interval(mins => s.every_minutes) from due where s.id = due.id
    returning s.id, s.tenant_id, s.workspace_id
$$;

-- Sources with rights that nobody has confirmed for too long, as ids.
create function stale_sources(now_at timestamptz, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    select s.id, s.tenant_id, s.workspace_id from sources s
    where s.has_rights and s.hidden_at is null
      and coalesce(s.last_success_at, s.created_at) + make_interval(hours => s.stale_after_hours) < now_at
    order by s.created_at, s.id limit most
$$;
revoke execute on function claim_due_sources(timestamptz, int), stale_sources(timestamptz, int) from public;
grant execute on function claim_due_sources(timestamptz, int), stale_sources(timestamptz, int) to aos_app;
