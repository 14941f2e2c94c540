-- Classes of data: the class that a document is of, by a policy's rules or by hand; its chunks are of the same, and an answer of
-- the highest of what it cites. Periods of retention for pages of former readings, traces and memory.
--
-- Locks: documents against everybody while it is read once, for the checks of the new columns; answers and retention_rules for
-- the moment in which a column or a check is added.
alter table documents
    add column classification text check (classification <> ''),
    add column classification_rank smallint,
    add column classified_by text check (classified_by in ('policy', 'hand')),
    -- The version that was looked at, and the rules; what is of others is looked at again. Null: nobody has looked yet.
    add column classified_with text;
alter table answers add column classification text;

-- When a tenant's documents were looked at last: of all replicas one takes a tenant.
create table classification_turns (
    tenant_id uuid primary key references tenants on delete cascade,
    ran_at timestamptz not null
);
create policy belongs on classification_turns using (tenant_id = (select aos_tenant()));
alter table classification_turns enable row level security;
alter table classification_turns force row level security;
grant select, insert, update, delete on classification_turns to aos_app;

-- The tenant whose documents were not looked at for the longest time, as an id; its next turn is `every` later. One of the
-- functions that look across tenants to find work.
create function claim_classification(now_at timestamptz, every interval) returns uuid
language plpgsql security definer set search_path = public, pg_temp as $$
declare found uuid;
begin
    perform pg_advisory_xact_lock(hashtext('aos.classification'));
    select t.id into found from tenants t left join classification_turns r on r.tenant_id = t.id
    where r.ran_at is null or r.ran_at <= now_at - every
    order by r.ran_at nulls first, t.id limit 1;
    if found is not null then
        insert into classification_turns (tenant_id, ran_at) values (found, now_at)
        on conflict (tenant_id) do update set ran_at = excluded.ran_at;
    end if;
    return found;
end $$;
revoke execute on function claim_classification(timestamptz, interval) from public;
grant execute on function claim_classification(timestamptz, interval) to aos_app;

alter table retention_rules drop constraint retention_rules_class_check;
alter table retention_rules add constraint retention_rules_class_check check (class in (
    'documents', 'versions', 'pages', 'answers', 'conversations', 'messages', 'memory', 'runs', 'journals', 'traces', 'audit'));
