-- Sources that are due are found by indexes, each reason by its own; there may be thousands that are not.

-- Whether nobody reads any more what passes of a source have seen: its syncs and passes have ended, the newest sync was not
-- cancelled, unless changes start syncs of it, and it is not a source that was paused, unless a person had asked.
create function is_pass_due(s sources) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select s.rights_job_id is not null
        and not exists (select from jobs j where j.id in (s.job_id, s.rights_job_id) and j.state in ('queued', 'running'))
        and exists (select from jobs j where j.id = s.job_id and (j.state <> 'cancelled' or s.watch))
        and (s.enabled or exists (select from jobs j where j.id = s.rights_job_id and j.created_by is not null))
$$;

create or replace function is_source_due(s sources, now_at timestamptz) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select (s.enabled and s.every_minutes is not null and s.next_at <= now_at) is true or is_pass_due(s)
$$;

-- Of both: `sources_due` has those with a period in their order, `sources_with_pass` the few that passes have listed.
create or replace function due_sources(now_at timestamptz, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    with at_their_period as (
        select s.id, s.tenant_id, s.workspace_id, s.next_at from sources s
        where s.enabled and s.every_minutes is not null and s.next_at <= now_at order by s.next_at limit most
    ), after_passes as (
        select s.id, s.tenant_id, s.workspace_id, s.next_at from sources s
        where s.rights_job_id is not null and is_pass_due(s) order by s.next_at nulls first limit most
    )
    select d.id, d.tenant_id, d.workspace_id
    from (select * from at_their_period union select * from after_passes) d
    order by d.next_at nulls first, d.id limit most
$$;
revoke execute on function is_pass_due(sources) from public;
grant execute on function is_pass_due(sources) to aos_app;
