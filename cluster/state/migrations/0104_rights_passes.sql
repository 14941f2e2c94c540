-- Rights passes: while a sync reads what it has listed, another job lists, and writes only who may see what and what is gone.

-- The newest pass beside the sync under `job_id`; a whole sync begins without one. While it is set, what the pass has seen is
-- still to be read by a whole sync.
alter table sources add column rights_job_id uuid;
create index sources_with_pass on sources (id) where rights_job_id is not null;

-- A source is due at its period; and at once where only passes have listed since its newest sync, which has ended: not one that
-- was cancelled, unless changes start syncs of it, and not of a source that was paused, unless a person had asked.
create function is_source_due(s sources, now_at timestamptz) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select (s.enabled and s.every_minutes is not null and s.next_at <= now_at) is true
        or (s.rights_job_id is not null
            and not exists (select from jobs j where j.id in (s.job_id, s.rights_job_id) and j.state in ('queued', 'running'))
            and exists (select from jobs j where j.id = s.job_id and (j.state <> 'cancelled' or s.watch))
            and (s.enabled or exists (select from jobs j where j.id = s.rights_job_id and j.created_by is not null)))
$$;

-- Sources whose sync is due, as ids; whoever starts it looks again under the source's lock.
create function due_sources(now_at timestamptz, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    select s.id, s.tenant_id, s.workspace_id from sources s where is_source_due(s, now_at)
    order by s.next_at nulls first, s.id limit most
$$;
revoke execute on function is_source_due(sources, timestamptz), due_sources(timestamptz, int) from public;
grant execute on function is_source_due(sources, timestamptz), due_sources(timestamptz, int) to aos_app;
drop function claim_due_sources(timestamptz, int);
