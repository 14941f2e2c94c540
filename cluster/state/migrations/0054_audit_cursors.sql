-- How far each collector has the trail of each tenant. The trail itself is the spool: what a collector has confirmed is
-- behind its cursor, and everything else is still to be sent. One process sends at a time, under lease.
create table audit_cursors (
    tenant_id uuid not null,  -- that of a deleted tenant too: its trail stays, and is still to be sent
    sink text not null,
    seq bigint not null default 0,
    confirmed_at timestamptz,
    error text,
    failures integer not null default 0,
    next_at timestamptz not null default now(),
    lease_owner text,
    lease_until timestamptz,
    fence bigint not null default 0,
    primary key (tenant_id, sink)
);

do $$ begin
    create policy belongs on audit_cursors using (tenant_id = (select aos_tenant()));
    alter table audit_cursors enable row level security;
    alter table audit_cursors force row level security;
    grant select, insert, update, delete on audit_cursors to aos_app;
end $$;

-- The tenant whose entries have waited for this collector longest, under a new token. Returns ids only.
create function claim_audit_cursor(of_sink text, of_tenants uuid[], claim_owner text, lease interval)
returns table (id text, tenant_id uuid, workspace_id uuid, fence bigint)
language sql security definer set search_path = public, pg_temp as $$
    insert into audit_cursors as c (tenant_id, sink, lease_owner, lease_until, fence)
    select t.id, of_sink, claim_owner, clock_timestamp() + lease, 1
    from (select tenants.id from tenants union select audit_cursors.tenant_id from audit_cursors where sink = of_sink) t
    left join audit_cursors k on k.tenant_id = t.id and k.sink = of_sink
    where (of_tenants is null or t.id = any(of_tenants))
      and coalesce(k.next_at, '-infinity') <= clock_timestamp()
      and coalesce(k.lease_until, '-infinity') < clock_timestamp()
      and exists (select 1 from audit a where a.tenant_id = t.id and a.seq > coalesce(k.seq, 0))
    order by k.confirmed_at nulls first, t.id limit 1
    on conflict (tenant_id, sink) do update
    set lease_owner = excluded.lease_owner, lease_until = excluded.lease_until, fence = c.fence + 1
    where coalesce(c.lease_until, '-infinity') < clock_timestamp()
    returning of_sink, c.tenant_id, '00000000-0000-0000-0000-000000000000'::uuid, c.fence
$$;

-- How far behind collectors are, over all tenants: numbers only.
create function audit_export_lag()
returns table (sink text, entries bigint, seconds double precision, failing bigint)
language sql stable security definer set search_path = public, pg_temp as $$
    select c.sink, sum(n.newest - c.seq)::bigint,
           coalesce(max(extract(epoch from clock_timestamp() - o.at)), 0)::double precision,
           count(*) filter (where c.failures > 0)
    from audit_cursors c
    cross join lateral (select coalesce(max(a.seq), 0) as newest from audit a where a.tenant_id = c.tenant_id) n
    left join audit o on o.tenant_id = c.tenant_id and o.seq = c.seq + 1
    group by c.sink
$$;
revoke all on function claim_audit_cursor, audit_export_lag from public;
grant execute on function claim_audit_cursor, audit_export_lag to aos_app;
