-- arrived: Where bytes are that came since a moment: files of jobs that were at work since, and of documents new in their workspaces.
with lately as materialized (
    select id, workspace_id, payload from jobs
    where state in ('queued', 'running') or created_at >= %(since)s or finished_at >= %(since)s
), fresh as (
    select d.id, d.metadata from (select distinct workspace_id from lately) w
    cross join lateral (
        select id, metadata from documents where workspace_id = w.workspace_id and upload_date >= %(since)s
    ) d
)
select location from (
    select file->>'location' from lately cross join lateral jsonb_array_elements(
        case jsonb_typeof(payload->'files') when 'array' then payload->'files' else '[]' end) file
    union
    select u.payload->>'location' from lately j join units u on u.job_id = j.id
    where u.status = 'pending' or u.settled_at >= %(since)s
    union
    select v.location from fresh f join document_versions v on v.document_id = f.id
    union
    select l.value from fresh f cross join lateral jsonb_array_elements_text(
        case jsonb_typeof(f.metadata->'uploads') when 'array' then f.metadata->'uploads' else '[]' end) l
) found(location)
where location like 'blob:%%';

-- moment: Now, and whether there are jobs that could tell what came.
select now() as moment, to_regclass('jobs') is not null as has_jobs;
