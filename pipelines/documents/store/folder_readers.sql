-- all: Folders with readers of their own, and how many documents have them from there.
select f.folder, f.readers, (
    select count(*) from documents d
    where d.workspace_id = f.workspace_id and d.parent_id is null and not d.own_readers and d.readers = f.readers
      and exists (select from unnest(f.prefixes) prefix where starts_with(d.origin, prefix))) as documents
from folder_readers f where f.workspace_id = %(workspace)s order by f.folder;

-- origin_folders: Folders that scanned documents lie in, as their origins name them.
select distinct substring(origin from '^.*/') as folder from documents
where workspace_id = %(workspace)s and parent_id is null and origin ~ '^fileb?:/';

-- prefixes: What origins of a folder's documents begin with, if it has readers.
select prefixes from folder_readers where workspace_id = %(workspace)s and folder = %(folder)s;

-- count: How many documents a folder's readers would change, nobody named taking its own away.
with rules as (
    select f.prefixes, f.readers from folder_readers f where f.workspace_id = %(workspace)s and f.folder <> %(folder)s
    union all
    select %(prefixes)s::text[], %(readers)s::text[] where %(readers)s::text[] <> '{}')
select count(*) as documents from documents d
where d.workspace_id = %(workspace)s and d.parent_id is null and not d.own_readers
  and exists (select from unnest(%(prefixes)s::text[]) prefix where starts_with(d.origin, prefix))
  and d.readers <> coalesce((
    select r.readers from rules r cross join unnest(r.prefixes) with ordinality p (prefix, nth)
    where starts_with(d.origin, p.prefix) order by length(p.prefix) desc, p.nth limit 1), '{}');

-- put: A folder's readers from now on.
insert into folder_readers (tenant_id, workspace_id, folder, prefixes, readers)
values (%(tenant)s, %(workspace)s, %(folder)s, %(prefixes)s, %(readers)s)
on conflict (workspace_id, folder) do update set readers = excluded.readers, prefixes = excluded.prefixes;

-- drop: It has none of its own.
delete from folder_readers where workspace_id = %(workspace)s and folder = %(folder)s;

-- apply: Its next documents have the readers of the nearest folder; members, chunks and vectors follow by triggers.
with next as (
    select d.id from documents d
    where d.workspace_id = %(workspace)s and d.parent_id is null and not d.own_readers and d.id > %(after)s
      and exists (select from unnest(%(prefixes)s::text[]) prefix where starts_with(d.origin, prefix))
    order by d.id limit %(most)s),
changed as (
    update documents d set readers = inherited_readers(d.workspace_id, d.origin) from next
    where d.id = next.id and d.workspace_id = %(workspace)s
      and d.readers <> inherited_readers(d.workspace_id, d.origin)
    returning d.id)
select max(next.id) as last, (select count(*) from changed) as changed from next;
