-- blobs_in_use: Which of these a version, a document, an upload on its way or an open job has, or were freed just now.
-- What comes again is kept under its old name, and whoever sweeps what was freed looks after the rest.
select v.location from document_versions v
where v.workspace_id = %(workspace)s::uuid and v.location = any(%(locations)s)
union
select up.location from documents d cross join lateral jsonb_array_elements_text(
    case jsonb_typeof(d.metadata->'uploads') when 'array' then d.metadata->'uploads' else '[]' end) up(location)
where d.workspace_id = %(workspace)s::uuid and up.location = any(%(locations)s)
union
select 'blob:' || s.tenant_id || '/' || s.workspace_id || '/' || whole
from upload_sessions s cross join lateral unnest(s.wholes) whole
where s.workspace_id = %(workspace)s::uuid
union
select u.payload->>'location' from jobs j join units u on u.job_id = j.id
where j.workspace_id = %(workspace)s::uuid and j.state in ('queued', 'running')
  and u.payload->>'location' = any(%(locations)s)
union
select named #>> '{}' from jobs j cross join lateral jsonb_path_query(j.payload, 'strict $.**.location') named
where j.workspace_id = %(workspace)s::uuid and j.state in ('queued', 'running')
union
select f.location from freed_blobs f
where f.workspace_id = %(workspace)s::uuid and f.location = any(%(locations)s) and f.freed_at >= %(before)s;

-- workspace: One, if it is there.
select w.id from workspaces w where w.id = %(workspace)s::uuid and w.tenant_id = %(tenant)s::uuid;

-- stored: The next versions whose bytes were uploaded.
select v.id, v.document_id, v.location, v.file_size, v.file_hash from document_versions v
where v.id > %(after)s and v.location like 'blob:%%' and v.created_at < %(before)s
order by v.id limit %(most)s;

-- sampled: Some of those, from an id on and around the end.
select s.id from (
    (select v.id, 1 as turn from document_versions v
     where v.id >= %(start)s and v.location like 'blob:%%' and v.created_at < %(before)s order by v.id limit %(most)s)
    union all
    (select v.id, 2 from document_versions v
     where v.id < %(start)s and v.location like 'blob:%%' and v.created_at < %(before)s order by v.id limit %(most)s)) s
order by s.turn, s.id limit %(most)s;

-- still_stored: Those of some versions that are there after all.
select v.id from document_versions v where v.id = any(%(ids)s) and v.location = any(%(locations)s);
