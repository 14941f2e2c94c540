-- Why a job waits, and sessions that outlive a workspace.

-- Why a job waits is told of each job, so what counts is what comes before it.
drop function lane_queue(text, interval);

-- What stands before jobs that have not ended, in the order in which they are claimed: counts, never whose. Of jobs of
-- the scope's tenant alone. `waits_for` is what keeps the worker that has the job, or else all of its lane.
create function job_places(asked uuid[], fresh interval)
returns table (id uuid, state text, kind text, since double precision, told text, ahead bigint, others bigint,
               running bigint, workers bigint, waits_for text)
language sql stable security definer set search_path = public, pg_temp as $$
    with open_jobs as (
        select j.*, coalesce(t.served, 0) as served, coalesce(j.yielded_at, j.created_at) as placed
        from jobs j left join tenant_turns t on t.tenant_id = j.tenant_id and t.lane = j.lane
        where j.state in ('queued', 'running')
    ), seen as (
        select * from lane_workers where seen_at > clock_timestamp() - fresh
    )
    select mine.id, mine.state, mine.kind, extract(epoch from clock_timestamp() - mine.placed)::float, mine.waiting,
        (select count(*) from open_jobs o where o.lane = mine.lane and o.state = 'queued'
           and o.tenant_id = mine.tenant_id and (o.placed, o.id) < (mine.placed, mine.id)),
        (select count(*) from open_jobs o where o.lane = mine.lane and o.state = 'queued'
           and o.tenant_id <> mine.tenant_id and (o.served, o.placed, o.id) < (mine.served, mine.placed, mine.id)),
        (select count(*) from open_jobs o where o.lane = mine.lane and o.state = 'running'),
        (select count(*) from seen w where w.lane = mine.lane),
        (select w.waits_for from seen w where w.lane = mine.lane and (mine.state = 'queued' or w.owner = mine.owner)
         order by (w.waits_for is null) desc, w.seen_at desc limit 1)
    from open_jobs mine where mine.id = any(asked) and mine.tenant_id = (select aos_tenant())
$$;

-- Where a membership goes because its workspace does, nobody's rights elsewhere become different: access tokens of that
-- workspace find no membership any more, and all others stay good.
create or replace function renew_member_tokens() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' and not exists (select from workspaces where id = old.workspace_id) then
        return null;
    end if;
    update users set token_version = token_version + 1 where id = old.user_id and tenant_id = old.tenant_id;
    return null;
end $$;

-- And a login goes on in another workspace of its owner's: their oldest, as at a login.
alter table refresh_tokens alter column workspace_id drop not null;
alter table refresh_tokens drop constraint refresh_tokens_workspace_id_fkey;
alter table refresh_tokens add constraint refresh_tokens_workspace_id_fkey
    foreign key (workspace_id) references workspaces on delete set null;
create index on refresh_tokens (workspace_id);
