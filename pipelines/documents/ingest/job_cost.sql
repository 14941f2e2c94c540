-- pages_left: Pages of a job that are still to be read by format, and what those of that format have cost that it has read.
with pages_left as (
    select payload->>'kind' as kind, count(*) as pages from units
    where job_id = %(job)s and workspace_id = %(workspace)s and stage = 'read' and status = 'pending' group by 1
)
select l.kind, l.pages, r.measured, r.ms from pages_left l cross join lateral (
    select count(*) as measured, avg(p.ms) as ms from (
        select u.key from units u
        where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage = 'read' and u.status = 'done'
          and u.payload->>'kind' = l.kind
        order by u.settled_at desc limit 50
    ) newest join pages p on p.id = newest.key and p.workspace_id = %(workspace)s
) r;

-- units_left: What is left of a job beside pages.
select count(*) as units from units
where job_id = %(job)s and workspace_id = %(workspace)s and stage <> 'read' and status = 'pending';
