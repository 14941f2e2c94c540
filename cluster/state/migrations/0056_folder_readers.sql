-- Readers that scanned documents inherit from the folder they lie in, the nearest that has some; what was given by hand or with
-- an upload stays.
create table folder_readers (
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    folder text not null,
    -- What origins of its documents begin with, its own name first, then where it leads and what leads there: names that are no
    -- UTF-8 are written in another way.
    prefixes text[] not null,
    readers text[] not null check (readers <> '{}'),
    primary key (workspace_id, folder)
);
create policy belongs on folder_readers
    using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
alter table folder_readers enable row level security;
alter table folder_readers force row level security;
grant select, insert, update, delete on folder_readers to aos_app;

alter table documents add column own_readers boolean not null default false;
update documents set own_readers = true where readers <> '{}';

create function inherited_readers(of_workspace uuid, origin text) returns text[]
language sql stable set search_path = public, pg_temp as $$
    select coalesce((
        select f.readers from folder_readers f cross join unnest(f.prefixes) with ordinality p (prefix, nth)
        where f.workspace_id = of_workspace and starts_with(origin, p.prefix)
        order by length(p.prefix) desc, p.nth limit 1), '{}')
$$;

create function inherit_folder_readers() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    if new.readers <> '{}' then
        new.own_readers := true;
    elsif new.parent_id is null then
        new.readers := inherited_readers(new.workspace_id, new.origin);
    end if;
    return new;
end $$;
create trigger readers_of_the_folder before insert on documents for each row execute function inherit_folder_readers();
