-- What was remembered of searches is served to whoever sees the same documents. Which principals the documents of a
-- workspace name at all decides that: two people who differ in others see the same. A principal that is no longer
-- named stays here; that parts people without need, and shows nobody anything.
create table document_principals (
    workspace_id uuid not null references workspaces on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    principal text not null,
    primary key (workspace_id, principal)
);
create policy belongs on document_principals
    using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
insert into document_principals (workspace_id, tenant_id, principal)
select distinct d.workspace_id, d.tenant_id, reader from documents d, unnest(d.readers) reader;
alter table document_principals enable row level security;
alter table document_principals force row level security;
grant select, insert, update, delete on document_principals to aos_app;

create function note_readers() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    insert into document_principals (workspace_id, tenant_id, principal)
    select distinct new.workspace_id, new.tenant_id, reader from unnest(new.readers) reader
    on conflict do nothing;
    if tg_op = 'UPDATE' then
        update workspaces w set corpus_version = w.corpus_version + 1 where w.id = new.workspace_id;
    end if;
    return null;
end $$;
create trigger readers_are_noted after insert on documents
    for each row when (new.readers <> '{}') execute function note_readers();
create trigger changed_readers_are_noted after update of readers on documents
    for each row when (new.readers is distinct from old.readers) execute function note_readers();
