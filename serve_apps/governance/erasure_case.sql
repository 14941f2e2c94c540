-- begin: An erasure on record, before anything goes.
insert into erasures (id, tenant_id, workspace_id, kind, subjects, reason, asked_by, asked_at, content, marks, files)
values (%(id)s, %(tenant)s, %(workspace)s, %(kind)s, %(subjects)s, %(reason)s, %(user)s, %(at)s, %(content)s, %(marks)s,
        %(files)s);

-- unfinished: One of exactly these subjects that has not ended.
select * from erasures where tenant_id = %(tenant)s and kind = %(kind)s
  and (workspace_id = %(workspace)s or kind = 'person')
  and subjects = %(subjects)s and state = 'begun' order by asked_at limit 1;

-- ended: The newest one of exactly these subjects that has its receipt.
select * from erasures where tenant_id = %(tenant)s and kind = %(kind)s
  and (workspace_id = %(workspace)s or kind = 'person')
  and subjects = %(subjects)s and state = 'done' order by finished_at desc, id limit 1;

-- show: One erasure.
select * from erasures where id = %(erasure)s and tenant_id = %(tenant)s;

-- list: The newest first.
select id, workspace_id, kind, subjects, reason, asked_by, asked_at, counts, state, finished_at,
       (receipt->'probe'->>'finds')::int as finds,
       (select count(*) from (select unnest(e.subjects)
                              union select c->>'document' from jsonb_array_elements(e.content) c) x (subject)
        where subject is not null) as expected,
       coalesce(counts->>case kind when 'document' then 'documents' else 'users' end, '0')::bigint as gone
from erasures e where tenant_id = %(tenant)s order by asked_at desc, id offset %(skip)s limit %(limit)s;

-- total: How many there are.
select count(*) as total from erasures where tenant_id = %(tenant)s;

-- done: All that have ended, the oldest first.
select * from erasures where tenant_id = %(tenant)s and state = 'done' order by asked_at, id;

-- count: More of it went.
update erasures e set counts = e.counts || (
    select jsonb_object_agg(a.key, coalesce((e.counts->>a.key)::bigint, 0) + a.value::bigint)
    from jsonb_each_text(%(added)s) a)
where e.id = %(erasure)s and e.tenant_id = aos_tenant();

-- finish: Its receipt.
update erasures set state = 'done', receipt = %(receipt)s, finished_at = %(at)s
where id = %(erasure)s and tenant_id = aos_tenant() and state = 'begun';
