-- What a tenant's files may cost, jobs that share a lane by time, why a job waits, and the languages that a workspace's
-- scans are in.

-- Pages that a tenant's documents have, counted where versions come and go: a quota asks in each file's transaction.
create table tenant_pages (
    tenant_id uuid primary key references tenants on delete cascade,
    pages bigint not null
);
insert into tenant_pages (tenant_id, pages) select tenant_id, sum(page_count) from document_versions group by tenant_id;
create policy belongs on tenant_pages using (tenant_id = (select aos_tenant()));
alter table tenant_pages enable row level security;
alter table tenant_pages force row level security;
grant select on tenant_pages to aos_app;

-- By statement, so that whoever changes many versions takes the tenant's row once, after all of theirs.
create function count_new_pages() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into tenant_pages as mine (tenant_id, pages)
    select tenant_id, sum(page_count) from fresh group by tenant_id
    on conflict (tenant_id) do update set pages = mine.pages + excluded.pages;
    return null;
end $$;
create trigger new_pages_are_counted after insert on document_versions
    referencing new table as fresh for each statement execute function count_new_pages();

create function count_gone_pages() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update tenant_pages mine set pages = greatest(mine.pages - gone_pages.pages, 0)
    from (select tenant_id, sum(page_count) as pages from gone group by tenant_id) gone_pages
    where mine.tenant_id = gone_pages.tenant_id;
    return null;
end $$;
create trigger gone_pages_are_counted after delete on document_versions
    referencing old table as gone for each statement execute function count_gone_pages();

-- What needs long for one file or page waits apart from what does not.
alter table jobs drop constraint jobs_lane_check;
alter table jobs add constraint jobs_lane_check check (lane in ('small', 'slow', 'bulk'));

-- A job that gave its place back after a time slice: it goes behind those that waited meanwhile.
alter table jobs add column yielded_at timestamptz;
-- What a running job waits for, as its worker says it; null while it gets on.
alter table jobs add column waiting text;

create or replace function claim_job(claim_lane text, claim_owner text, lease interval)
returns table (id uuid, tenant_id uuid, workspace_id uuid, fence bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
    -- A job that ends its worker each time must not end every worker that there is.
    update jobs set state = 'failed', finished_at = clock_timestamp(), owner = null, lease_until = null,
        error = format('its worker ended %s times before a turn was done; resume it once the cause is mended', lapses)
    where lane = claim_lane and state = 'running' and lease_until < clock_timestamp() and lapses >= 8;
    return query
    with next as (
        select j.id from jobs j
        left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = j.lane
        where j.lane = claim_lane
          and (j.state = 'queued' or (j.state = 'running' and j.lease_until < clock_timestamp()))
        order by coalesce(t.served, 0), coalesce(j.yielded_at, j.created_at), j.id
        for update of j skip locked
        limit 1
    )
    update jobs j
    set state = 'running', owner = claim_owner, fence = j.fence + 1, lease_until = clock_timestamp() + lease,
        attempts = j.attempts + (j.yielded_at is null)::int, lapses = j.lapses + (j.state = 'running')::int,
        started_at = coalesce(j.started_at, clock_timestamp()), yielded_at = null
    from next where j.id = next.id
    returning j.id, j.tenant_id, j.workspace_id, j.fence;
end $$;

-- Who takes jobs of a lane, and what keeps them from it. Of workers, not of tenants.
create table lane_workers (
    owner text not null,
    lane text not null,
    seen_at timestamptz not null,
    waits_for text,
    primary key (owner, lane)
);
alter table lane_workers enable row level security;
alter table lane_workers force row level security;

create function note_lane_worker(worker_owner text, worker_lane text, worker_waits_for text) returns void
language sql security definer set search_path = public, pg_temp as $$
    delete from lane_workers where seen_at < clock_timestamp() - interval '1 hour';
    insert into lane_workers (owner, lane, seen_at, waits_for)
    values (worker_owner, worker_lane, clock_timestamp(), worker_waits_for)
    on conflict (owner, lane) do update set seen_at = excluded.seen_at, waits_for = excluded.waits_for;
$$;

-- What stands before a job that waits: counts, never whose. One's own are those of the tenant of the scope.
create function lane_queue(queue_lane text, fresh interval)
returns table (own bigint, others bigint, workers bigint, waits_for text)
language sql stable security definer set search_path = public, pg_temp as $$
    select count(*) filter (where j.tenant_id = aos_tenant()), count(*) filter (where j.tenant_id <> aos_tenant()),
           (select count(*) from lane_workers w where w.lane = queue_lane and w.seen_at > clock_timestamp() - fresh),
           (select w.waits_for from lane_workers w
            where w.lane = queue_lane and w.seen_at > clock_timestamp() - fresh
            order by (w.waits_for is null) desc, w.seen_at desc limit 1)
    from jobs j where j.lane = queue_lane and j.state in ('queued', 'running')
$$;

-- The languages that a workspace's scans are in, by Tesseract's names; null takes those of the settings.
alter table workspaces add column ocr_languages text[]
    check (cardinality(ocr_languages) between 1 and 8);
