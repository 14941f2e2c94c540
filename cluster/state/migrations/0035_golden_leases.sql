-- Golden runs go on by themselves: whoever looks next takes up a run whose process is gone, as with jobs and runs.

-- `role` is a ceiling: that of the key or person that began it or went on with it last. A run without one is older than
-- this and is resumed by hand. `lapses` counts processes that ended in the middle of it since a question was answered.
alter table golden_runs
    add column role text check (role in ('viewer', 'developer', 'operator', 'admin')),
    add column lapses int not null default 0;
create index golden_runs_begun on golden_runs (lease_until) where state = 'running';

-- Runs whose lease has run out, as ids: one of the functions that look across tenants to find work.
create function claim_golden_runs(c_lease interval, c_most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
    -- A run that ends its process each time must not end every process that there is.
    update golden_runs set state = 'failed', finished_at = clock_timestamp(), lease_until = null,
        failures = jsonb_build_array(jsonb_build_object('questions', total - done,
            'what', format('crashes: its process ended %s times before another question was answered', lapses)))
    where id in (select r.id from golden_runs r
                 where r.state = 'running' and r.lease_until < clock_timestamp() and r.lapses >= 8
                 for update of r skip locked);
    return query
    with next as (
        select r.id from golden_runs r
        where r.state = 'running' and r.lease_until < clock_timestamp() and r.role is not null
          and r.created_by is not null
        order by r.lease_until, r.id
        for update of r skip locked
        limit c_most
    )
    update golden_runs r
    set fence = r.fence + 1, lapses = r.lapses + 1, lease_until = clock_timestamp() + c_lease
    from next where r.id = next.id
    returning r.id, r.tenant_id, r.workspace_id, r.fence;
end $$;
revoke execute on function claim_golden_runs(interval, int) from public;
grant execute on function claim_golden_runs(interval, int) to aos_app;
