-- Questions of agents to the person they talk to: kept beside the approvals, answered by that person's next message.

alter table approvals drop constraint approvals_category_check;
alter table approvals add constraint approvals_category_check check (category in ('approval', 'reconcile', 'input'));
create index approvals_questions on approvals (session_id, created_at desc) where category = 'input';

-- As before; a question that nobody has answered ends with its run too.
create or replace function end_approvals(e_run uuid, e_tenant uuid, e_workspace uuid) returns void
language sql set search_path = public, pg_temp as $$
    update approvals set
        state = case when category in ('approval', 'input') and state = 'pending' then 'expired' else state end,
        decided_at = case when category in ('approval', 'input') and state = 'pending' then clock_timestamp()
                          else decided_at end,
        execution = case when execution = 'started' then 'needs_reconcile' else execution end
    where run_id = e_run and tenant_id = e_tenant and workspace_id = e_workspace
      and ((category in ('approval', 'input') and state = 'pending') or execution = 'started');
    update approvals a
    set execution = case when said.decided_arguments ->> 'found' = 'happened' then 'done' else 'failed' end
    from approvals said
    where a.run_id = e_run and a.tenant_id = e_tenant and a.workspace_id = e_workspace
      and a.category = 'approval' and a.execution = 'needs_reconcile'
      and said.run_id = a.run_id and said.step = a.step + 1 and said.category = 'reconcile'
      and said.state in ('approved', 'rejected') and said.execution = 'none';
$$;

-- As before; a question that nobody has answered in time takes its run further too.
create or replace function claim_run(run_owner text, lease interval)
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
            where a.run_id = r.id and a.state = 'pending' and a.category in ('approval', 'input')
              and a.expires_at < clock_timestamp())
        for update of r skip locked);
    update approvals set state = 'expired', decided_at = clock_timestamp()
    where run_id = any(late) and state = 'pending' and category in ('approval', 'input')
      and expires_at < clock_timestamp();
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
