-- A file of an archive, or what is attached to a letter, is a document of its own that knows where it came from.
--
-- Locks: documents against everybody while a unique index is built on it, a second for some hundred thousand documents;
-- no row has a parent yet, so the foreign key and the index of parents cost next to nothing.
alter table documents add constraint documents_of_workspace unique (workspace_id, id);
alter table documents add column parent_id text;
alter table documents add constraint documents_parent
    foreign key (workspace_id, parent_id) references documents (workspace_id, id) on delete cascade;
create index documents_by_parent on documents (parent_id, workspace_id) where parent_id is not null;

-- Who may not see a container sees none of its members.
create function pass_readers_on() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    update documents d set readers = new.readers
    where d.parent_id = new.id and d.workspace_id = new.workspace_id and d.readers is distinct from new.readers;
    return null;
end $$;
create trigger changed_readers_are_passed_on after update of readers on documents
    for each row when (new.readers is distinct from old.readers) execute function pass_readers_on();
