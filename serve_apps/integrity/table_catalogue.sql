-- tables: Every table that holds rows, partitions one by one, with its primary key and what its columns are.
select c.relname::text as name, coalesce(p.relname, c.relname)::text as family,
       coalesce((select array_agg(a.attname::text order by array_position(i.indkey::int2[], a.attnum))
                 from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
                 where i.indrelid = c.oid and i.indisprimary), '{}') as key,
       (select array_agg(a.attname::text) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
from pg_class c
join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
left join pg_inherits h on h.inhrelid = c.oid
left join pg_class p on p.oid = h.inhparent
where c.relkind = 'r' and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
order by c.relname;

-- references: Every foreign key of those, with what becomes of a row whose parent goes.
select k.conrelid::regclass::text as table, k.confrelid::regclass::text as parent, k.confdeltype::text as action,
       (select array_agg(a.attname::text order by n) from unnest(k.conkey) with ordinality u(attnum, n)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.attnum) as columns,
       (select array_agg(a.attname::text order by n) from unnest(k.confkey) with ordinality u(attnum, n)
        join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.attnum) as parent_columns
from pg_constraint k
join pg_class c on c.oid = k.conrelid and c.relkind = 'r'
join pg_class p on p.oid = k.confrelid and not p.relispartition
join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
where k.contype = 'f'
order by 1, 2, k.conname;
