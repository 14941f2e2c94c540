-- claim_next: The tenant whose entries have waited for a collector longest.
select id, tenant_id, workspace_id, fence
from claim_audit_cursor(%(sink)s, %(tenants)s::uuid[], %(owner)s, make_interval(secs => %(lease)s));

-- heartbeat: Extend the lease; no row where it is lost.
update audit_cursors set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where tenant_id = %(tenant)s and sink = %(export)s and fence = %(fence)s
returning false as cancel_requested;

-- hold: How far the collector has the trail, if the fencing token still holds; locked for this transaction.
select seq, failures from audit_cursors
where tenant_id = %(tenant)s and sink = %(export)s and fence = %(fence)s
for update;

-- confirm: What the collector has confirmed.
update audit_cursors
set seq = %(seq)s, confirmed_at = clock_timestamp(), error = null, failures = 0, next_at = clock_timestamp()
where tenant_id = %(tenant)s and sink = %(export)s and fence = %(fence)s and seq < %(seq)s;

-- fail: Why nothing was confirmed; the next attempt waits twice as long each time, up to a bound.
update audit_cursors
set error = %(error)s, failures = failures + 1, next_at = clock_timestamp()
    + make_interval(secs => least(power(2, least(failures, 16)), %(most)s))
where tenant_id = %(tenant)s and sink = %(export)s and fence = %(fence)s;

-- release: Let go; whoever looks next goes on.
update audit_cursors set lease_until = clock_timestamp()
where tenant_id = %(tenant)s and sink = %(export)s and fence = %(fence)s;

-- entries: Entries after a number, oldest first, up to another.
select a.seq, a.at, a.actor, u.email, a.action, a.object, a.outcome, a.previous, a.hash,
       case when not exists (select from audit_redactions r where r.tenant_id = a.tenant_id and r.seq = a.seq)
            then a.detail::text end as detail
from audit a
left join users u on u.tenant_id = a.tenant_id and u.id::text = a.actor
where a.tenant_id = %(tenant)s and a.seq > %(after)s and a.seq <= %(last)s
order by a.seq limit %(limit)s;

-- status: How far each collector has the tenant's trail, and what it lacks.
select c.sink, c.seq, n.newest - c.seq as lag_entries,
       coalesce(extract(epoch from clock_timestamp() - o.at), 0)::double precision as lag_seconds,
       c.confirmed_at, c.error, c.failures, case when c.failures > 0 then c.next_at end as next_at
from audit_cursors c
cross join lateral (select coalesce(max(seq), 0) as newest from audit where tenant_id = %(tenant)s) n
left join audit o on o.tenant_id = c.tenant_id and o.seq = c.seq + 1
where c.tenant_id = %(tenant)s
order by c.sink;

-- lag: How far behind each collector is, over all tenants.
select sink, entries, seconds, failing from audit_export_lag();
