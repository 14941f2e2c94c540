-- all: Folders with readers of their own, and how many documents have them from there.
select f.folder, f.readers, (
    select count(*) from documents d
    where d.workspace_id = f.workspace_id and d.parent_id is null and not d.own_readers and d.readers = f.readers
      and exists (select from unnest(f.prefixes) prefix where starts_with(d.origin, prefix))) as documents
from folder_readers f where f.workspace_id = %(workspace)s order by f.folder;

-- put: A folder's readers from now on.
insert into folder_readers (tenant_id, workspace_id, folder, prefixes, readers)
values (%(tenant)s, %(workspace)s, %(folder)s, %(prefixes)s, %(readers)s)
on conflict (workspace_id, folder) do update set readers = excluded.readers;

-- drop: It has none of its own.
delete from folder_readers where workspace_id = %(workspace)s and folder = %(folder)s;

-- apply: Its documents have the readers of the nearest folder; members, chunks and vectors follow by triggers.
update documents d set readers = inherited_readers(d.workspace_id, d.origin)
where d.workspace_id = %(workspace)s and d.parent_id is null and not d.own_readers
  and exists (select from unnest(%(prefixes)s::text[]) prefix where starts_with(d.origin, prefix))
  and d.readers <> inherited_readers(d.workspace_id, d.origin);
