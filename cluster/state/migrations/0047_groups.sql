-- Groups of people in a tenant: documents may name them among their readers (`group:<name>`). A deleted group keeps its
-- name: documents may still name it, and whoever made another of that name would be given them.
create table groups (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    name text not null check (name = btrim(name) and name ~ '^[^[:cntrl:],]{1,100}$'),
    created_at timestamptz not null default now(),
    deleted_at timestamptz,
    unique (tenant_id, name),
    unique (tenant_id, id)
);
create table group_members (
    group_id uuid not null,
    tenant_id uuid not null,
    user_id uuid not null references users on delete cascade,
    added_at timestamptz not null default now(),
    primary key (group_id, user_id),
    foreign key (tenant_id, group_id) references groups (tenant_id, id) on delete cascade
);
create index group_members_by_user on group_members (user_id);

do $$
declare
    name text;
begin
    foreach name in array array['groups', 'group_members'] loop
        execute format('create policy belongs on %I using (tenant_id = (select aos_tenant()))', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

-- Chunks and vectors are under row-level security by readers of their own, of every generation. Whoever changes readers
-- acts for all of them (`*`): rows that they do not see would keep the old ones.
create function copy_readers() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    if row_security_active('documents') and not aos_principals() @> array['*'] then
        raise exception 'readers are changed for all readers, not as one of them';
    end if;
    update document_chunks c set readers = new.readers
    where c.document_id = new.id and c.workspace_id = new.workspace_id and c.readers is distinct from new.readers;
    update embeddings e set readers = new.readers
    where e.document_id = new.id and e.workspace_id = new.workspace_id and e.readers is distinct from new.readers;
    return null;
end $$;
create trigger changed_readers_are_copied after update of readers on documents
    for each row when (new.readers is distinct from old.readers) execute function copy_readers();
