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

-- A person asked for a sync while a listing was under way, which may have passed what has changed: another one follows, once.
alter table sources add column asked_at timestamptz;
create index sources_asked on sources (id) where asked_at is not null;

-- Whether no listing is under way any more for what was asked, and none has begun since. A sync that reads what it has listed is
-- none; nothing follows one that a person has cancelled, unless changes start syncs of its source, or a removal.
create function is_asked_due(s sources) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select s.asked_at is not null and not exists (
        select from jobs j where j.id in (s.job_id, s.rights_job_id)
        and ((j.created_at >= s.asked_at and not coalesce((j.payload->>'dry_run')::boolean, false))
             or (j.state in ('queued', 'running') and (j.id <> s.job_id or j.phase <> 'run' or j.lane = 'sync'))
             or (j.state = 'cancelled' and not s.watch)
             or j.payload ? 'remove'))
$$;

create or replace function is_source_due(s sources, now_at timestamptz) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select (s.enabled and s.every_minutes is not null and s.next_at <= now_at) is true
        or is_pass_due(s) or is_asked_due(s)
$$;

-- Of all three: `sources_due` has those with a period in their order, `sources_with_pass` and `sources_asked` the few others.
create or replace function due_sources(now_at timestamptz, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    with at_their_period as (
        select s.id, s.tenant_id, s.workspace_id, s.next_at from sources s
        where s.enabled and s.every_minutes is not null and s.next_at <= now_at order by s.next_at limit most
    ), after_passes as (
        select s.id, s.tenant_id, s.workspace_id, s.next_at from sources s
        where s.rights_job_id is not null and is_pass_due(s) order by s.next_at nulls first limit most
    ), after_asking as (
        select s.id, s.tenant_id, s.workspace_id, s.next_at from sources s
        where s.asked_at is not null and is_asked_due(s) order by s.asked_at limit most
    )
    select d.id, d.tenant_id, d.workspace_id
    from (select * from at_their_period union select * from after_passes union select * from after_asking) d
    order by d.next_at nulls first, d.id limit most
$$;
revoke execute on function is_pass_due(sources), is_asked_due(sources) from public;
grant execute on function is_pass_due(sources), is_asked_due(sources) to aos_app;
