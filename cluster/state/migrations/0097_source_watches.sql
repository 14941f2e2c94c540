-- Sources that are watched: who does, under a lease, and how; and what the documents of a source are given beside readers.

-- `watch`: a change in the source starts a sync, where its kind can be watched. `tags` and `agent_id` are for documents that
-- come from now on; an agent that is gone is linked to nothing.
alter table sources add column watch boolean not null default false;
alter table sources add column tags text[] not null default '{}';
alter table sources add column agent_id uuid;
update sources set watch = true where kind = 'folder';

-- One watcher each, over all processes: whoever holds the lease. `mode` is null until it has looked for the first time,
-- `why` is what keeps it from being told of changes, `folders` how many of them tell it.
create table source_watches (
    source_id uuid primary key references sources on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    owner text not null,
    lease_until timestamptz not null,
    fence bigint not null default 1,
    mode text check (mode in ('events', 'polling', 'sweeping', 'missing')),
    why text,
    folders int not null default 0,
    since timestamptz,
    changed_at timestamptz
);

create policy belongs on source_watches using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
alter table source_watches enable row level security;
alter table source_watches force row level security;
grant select, insert, update, delete on source_watches to aos_app;

-- Sources that nobody watches, under new tokens, those first that nobody has for the longest. Returns ids only.
create function claim_source_watches(claim_owner text, kinds text[], lease interval, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language sql security definer set search_path = public, pg_temp as $$
    with free as (
        select s.id, s.tenant_id, s.workspace_id from sources s left join source_watches w on w.source_id = s.id
        where s.enabled and s.watch and s.kind = any(kinds)
          and coalesce(w.lease_until, '-infinity') <= clock_timestamp()
        order by w.lease_until nulls first, s.id limit most
        for no key update of s skip locked)
    insert into source_watches as w (source_id, tenant_id, workspace_id, owner, lease_until)
    select f.id, f.tenant_id, f.workspace_id, claim_owner, clock_timestamp() + lease from free f
    on conflict (source_id) do update
        set owner = claim_owner, lease_until = clock_timestamp() + lease, fence = w.fence + 1, mode = null, why = null,
            folders = 0, since = null
        where w.lease_until <= clock_timestamp()
    returning w.source_id, w.tenant_id, w.workspace_id, w.fence
$$;
revoke execute on function claim_source_watches(text, text[], interval, int) from public;
grant execute on function claim_source_watches(text, text[], interval, int) to aos_app;
