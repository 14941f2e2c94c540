-- Sources whose listing reads everything, as a crawl of a site does: none begins while another one, or what follows it, is
-- under way. Whoever asks meanwhile is answered together, by the one that comes after it.
-- Held locks: sources ACCESS EXCLUSIVE, 100 s/GiB.
-- Old code: runs beside it.
alter table sources add column listing_reads boolean not null default false;
update sources set listing_reads = true where kind = 'web';

-- Whether a job of a source is under way, and its listing reads everything.
create function is_listing_held(s sources) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select s.listing_reads
        and exists (select from jobs j where j.id in (s.job_id, s.rights_job_id) and j.state in ('queued', 'running'))
$$;

create or replace function is_source_due(s sources, now_at timestamptz) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select not is_listing_held(s)
        and ((s.enabled and s.every_minutes is not null and s.next_at <= now_at) is true or is_pass_due(s) or is_asked_due(s))
$$;

create or replace function due_sources(now_at timestamptz, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    with at_their_period as (
        select s.id, s.tenant_id, s.workspace_id, s.next_at from sources s
        where s.enabled and s.every_minutes is not null and s.next_at <= now_at and not is_listing_held(s)
        order by s.next_at limit most
    ), after_passes as (
        select s.id, s.tenant_id, s.workspace_id, s.next_at from sources s
        where s.rights_job_id is not null and is_pass_due(s) order by s.next_at nulls first limit most
    ), after_asking as (
        select s.id, s.tenant_id, s.workspace_id, s.next_at from sources s
        where s.asked_at is not null and is_asked_due(s) and not is_listing_held(s) order by s.asked_at limit most
    )
    select d.id, d.tenant_id, d.workspace_id
    from (select * from at_their_period union select * from after_passes union select * from after_asking) d
    order by d.next_at nulls first, d.id limit most
$$;
revoke execute on function is_listing_held(sources) from public;
grant execute on function is_listing_held(sources) to aos_app;
