-- job: What a job is about, as far as the reader may see it: the folder, or the name of the document.
select j.id, j.kind, j.state, j.started_at, j.finished_at, clock_timestamp() as now,
       coalesce(j.payload->>'root', (
           select s.name from sources s
           where s.workspace_id = j.workspace_id and s.id::text = j.payload->>'source'), (
           select d.filename from documents d
           where d.workspace_id = j.workspace_id
             and (d.id = j.payload->>'document_id' or d.origin = j.payload->'files'->0->>'origin') limit 1)) as about
from jobs j where j.id = %(job)s and j.workspace_id = %(workspace)s;

-- about: The same for several jobs at once.
select j.id, coalesce(j.payload->>'root', (
           select s.name from sources s
           where s.workspace_id = j.workspace_id and s.id::text = j.payload->>'source'), (
           select d.filename from documents d
           where d.workspace_id = j.workspace_id
             and (d.id = j.payload->>'document_id' or d.origin = j.payload->'files'->0->>'origin') limit 1)) as about
from jobs j where j.id = any(%(jobs)s::uuid[]) and j.workspace_id = %(workspace)s;

-- stages: The counters of each stage.
select stage, expected, done, failed, unchanged from job_progress
where job_id = %(job)s and workspace_id = %(workspace)s;

-- lately: How many pages a job settled in the last so many seconds.
select count(*) as pages from units u
where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage = 'read' and u.status in ('done', 'failed')
  and u.settled_at > clock_timestamp() - make_interval(secs => %(seconds)s);

-- engines: Which engines read a job's pages, and how sure they were; of documents that the reader may see.
select p.engine, count(*) as pages, avg(p.confidence) as confidence, avg(p.ms) as ms
from units u join pages p on p.id = u.key and p.workspace_id = u.workspace_id
where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage = 'read' and u.status = 'done'
group by p.engine order by 2 desc, 1;

-- failures: What failed in a job by stage and reason, the most frequent first.
select u.stage, u.failure->>'reason' as reason, count(*) as count,
       bool_or(coalesce((u.failure->>'retryable')::boolean, false)) as retryable
from units u where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.status = 'failed'
group by 1, 2 order by 3 desc, 1, 2;

-- recent: What the workspace's newest jobs that read something took: pages, and seconds from their start to their end.
select coalesce(sum(p.done), 0)::bigint as pages,
       coalesce(sum(extract(epoch from j.finished_at - j.started_at)), 0)::float as seconds, count(*) as jobs
from (select id, workspace_id, started_at, finished_at from jobs
      where workspace_id = %(workspace)s and kind in ('scan', 'upload') and finished_at > started_at
      order by finished_at desc limit 50) j
join job_progress p on p.job_id = j.id and p.workspace_id = j.workspace_id and p.stage = 'read' and p.done > 0;
