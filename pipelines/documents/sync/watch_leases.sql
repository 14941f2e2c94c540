-- claim_next: Sources that nobody watches.
select id, tenant_id, workspace_id, fence
from claim_source_watches(%(owner)s, %(kinds)s, make_interval(secs => %(lease)s), %(most)s);

-- heartbeat: Extend the lease; no row where it is lost, or the source is not to be watched any more.
update source_watches w set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
from sources s
where w.source_id = %(source)s::uuid and w.tenant_id = %(tenant)s and w.workspace_id = %(workspace)s and w.fence = %(fence)s
  and s.id = w.source_id and s.workspace_id = w.workspace_id and s.enabled and s.watch
returning false as cancel_requested;

-- hold: The watch, if the fencing token still holds; locked for this transaction.
select w.source_id from source_watches w
where w.source_id = %(source)s::uuid and w.tenant_id = %(tenant)s and w.workspace_id = %(workspace)s and w.fence = %(fence)s
for no key update;

-- release: Let go; whoever looks next watches it.
update source_watches set lease_until = clock_timestamp()
where source_id = %(source)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and fence = %(fence)s;

-- report: How it is watched from now on.
update source_watches set mode = %(mode)s, why = %(why)s, folders = %(folders)s, since = clock_timestamp()
where source_id = %(source)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- note_change: Something has changed in it.
update source_watches set changed_at = clock_timestamp()
where source_id = %(source)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;
