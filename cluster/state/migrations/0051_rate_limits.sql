-- Limits that a tenant gives its keys, people, groups, workspaces and itself; without a rule the settings' defaults hold.
create table rate_limits (
    tenant_id uuid not null references tenants on delete cascade,
    subject_kind text not null check (subject_kind in ('key', 'user', 'group', 'workspace', 'tenant')),
    subject_id uuid not null,
    resource text not null check (resource ~ '^[a-z_]{1,40}$'),
    amount numeric not null check (amount >= 0),
    period text not null check (period in ('at_once', 'second', 'minute', 'hour', 'day', 'month')),
    changed_at timestamptz not null default now(),
    primary key (tenant_id, subject_kind, subject_id, resource)
);

-- What was used in a period (UTC): of tokens, money, pages and bytes. Nil ids stand for no user and no key.
create table resource_usage (
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    resource text not null,
    period text not null,
    starts_at timestamptz not null,
    user_id uuid not null,
    key_id uuid not null,
    amount numeric not null,
    primary key (tenant_id, resource, period, starts_at, workspace_id, user_id, key_id)
);
create index resource_usage_by_workspace on resource_usage (workspace_id);
create index resource_usage_by_start on resource_usage (starts_at) where period in ('minute', 'hour');

do $$
declare
    name text;
begin
    foreach name in array array['rate_limits', 'resource_usage'] loop
        execute format('create policy belongs on %I using (tenant_id = (select aos_tenant()))', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

-- Jobs of a tenant that wait or run, whose workspaces row-level security keeps apart: a number, and nothing of them.
create function open_jobs(of_kind text, of_subject uuid) returns bigint
language sql stable security definer set search_path = public, pg_temp as $$
    select count(*) from jobs j
    where j.tenant_id = aos_tenant() and j.state in ('queued', 'running')
      and case of_kind
          when 'user' then j.created_by = of_subject
          when 'group' then j.created_by in (select m.user_id from group_members m
                                             where m.group_id = of_subject and m.tenant_id = aos_tenant())
          when 'workspace' then j.workspace_id = of_subject
          else true
      end
$$;

-- What was used counts to its minute, hour, day and month; minutes and hours of a user that are long over are forgotten.
create function count_usage(of_resource text, of_workspace uuid, of_user uuid, of_key uuid, used numeric, at timestamptz)
returns void language sql set search_path = public, pg_temp as $$
    delete from resource_usage
    where tenant_id = aos_tenant() and resource = of_resource and period in ('minute', 'hour')
      and starts_at < at - interval '2 days' and user_id = coalesce(of_user, '00000000-0000-0000-0000-000000000000');
    insert into resource_usage (tenant_id, workspace_id, resource, period, starts_at, user_id, key_id, amount)
    select aos_tenant(), of_workspace, of_resource, p, date_trunc(p, at, 'UTC'),
           coalesce(of_user, '00000000-0000-0000-0000-000000000000'),
           coalesce(of_key, '00000000-0000-0000-0000-000000000000'), used
    from unnest(array['minute', 'hour', 'day', 'month']) as p
    where used > 0
    on conflict (tenant_id, resource, period, starts_at, workspace_id, user_id, key_id)
        do update set amount = resource_usage.amount + excluded.amount
$$;
