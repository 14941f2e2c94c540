-- hold: One at a time in a workspace: two workers must not both take its last page.
select pg_advisory_xact_lock(hashtextextended('vision ' || %(workspace)s::text, 0));

-- used: Pages that a model was asked about today in a workspace, and in a job.
select coalesce(sum(pages) filter (where day = %(day)s), 0)::bigint as today,
       coalesce(sum(pages) filter (where job_id = %(job)s), 0)::bigint as of_job
from vision_pages
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and (day = %(day)s or job_id = %(job)s);

-- renew_job: A job has all its pages before it again; the days keep what was spent, under no job.
with spent as (
    delete from vision_pages
    where tenant_id = %(tenant)s and workspace_id = %(workspace)s and job_id = %(job)s
    returning day, pages, pixels
)
insert into vision_pages (tenant_id, workspace_id, job_id, day, pages, pixels)
select %(tenant)s, %(workspace)s, '00000000-0000-0000-0000-000000000000', day, pages, pixels from spent
on conflict (workspace_id, job_id, day) do update set
    pages = vision_pages.pages + excluded.pages, pixels = vision_pages.pixels + excluded.pixels;

-- take: Count one page to a job and a day.
insert into vision_pages (tenant_id, workspace_id, job_id, day, pages, pixels)
values (%(tenant)s, %(workspace)s, %(job)s, %(day)s, 1, %(pixels)s)
on conflict (workspace_id, job_id, day) do update set
    pages = vision_pages.pages + 1, pixels = vision_pages.pixels + excluded.pixels;
