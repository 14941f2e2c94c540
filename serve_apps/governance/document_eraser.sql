-- refuse_held: Raises where the document, what it came out of, or its workspace is held.
select refuse_if_document_held(%(tenant)s::uuid, %(workspace)s::uuid, %(document)s);

-- back: Those of some documents that came before a moment.
select d.id from documents d
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s and d.upload_date < %(before)s order by d.id;

-- back_some: Some of those, the next that have to go; members go with what they came out of.
select d.id from documents d
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s and d.upload_date < %(before)s
order by d.parent_id is not null, d.id limit %(most)s;

-- came_since: What came under the id of one of some documents since a moment.
select d.id, d.filename, d.origin from documents d
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s and d.upload_date >= %(before)s;

-- versions: All versions of some documents, by the bytes that they were read from.
select v.id, v.document_id, v.file_hash, v.file_size from document_versions v
where v.document_id = any(%(documents)s) and v.workspace_id = %(workspace)s order by v.document_id, v.created_at, v.id;

-- chunks: Their chunks of every chunker.
select c.id from document_chunks c where c.document_id = any(%(documents)s) and c.workspace_id = %(workspace)s;

-- own_names: File names and origins of some documents that no other document of the workspace has.
select n.name from documents d cross join lateral (values (d.filename), (d.origin)) n(name)
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s
  and not exists (select from documents o where o.workspace_id = d.workspace_id and o.id <> all(%(documents)s)
                    and lower(n.name) in (lower(o.filename), lower(o.origin)));

-- locations: Where the bytes of their versions are, and those of uploads that a job has or never became one.
select v.location from document_versions v
where v.document_id = any(%(documents)s) and v.workspace_id = %(workspace)s and v.location like 'blob:%%'
union
select u.location from documents d cross join lateral jsonb_array_elements_text(d.metadata->'uploads') u(location)
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s and jsonb_typeof(d.metadata->'uploads') = 'array'
union
select u.payload->>'location' from documents d
join units u on u.workspace_id = d.workspace_id and u.stage = 'survey' and u.key = d.origin
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s and u.payload->>'location' like 'blob:%%';

-- all_locations: Where bytes are of every document of the workspace.
select v.location from document_versions v where v.workspace_id = %(workspace)s
union
select u.location from documents d cross join lateral jsonb_array_elements_text(d.metadata->'uploads') u(location)
where d.workspace_id = %(workspace)s and jsonb_typeof(d.metadata->'uploads') = 'array';

-- texts: The pages of some documents, or of all others.
select p.document_id, p.text from pages p
where p.workspace_id = %(workspace)s and p.text <> '' and (p.document_id = any(%(documents)s)) = %(own)s;

-- reading_jobs: Jobs that have yet to look at some documents, or to read them.
select j.id from jobs j join units u on u.job_id = j.id
where j.workspace_id = %(workspace)s and j.state in ('queued', 'running') and u.status = 'pending'
  and u.stage in ('survey', 'read')
  and (u.subject = any(%(ids)s)
       or u.key in (select d.origin from documents d where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s))
limit 1;

-- refuse_held_people: Raises where somebody is held to whom an answer about one of the documents was given.
select refuse_if_held(%(tenant)s::uuid, array_agg('person'::text), array_agg(a.user_id::text))
from answers a where a.workspace_id = %(workspace)s and a.user_id is not null
  and exists (select from answer_citations c where c.answer_id = a.id and c.document_id = any(%(documents)s));

-- graph_size: How many entities and relations the workspace has.
select (select count(*) from entities where workspace_id = %(workspace)s) as entities,
       (select count(*) from relations where workspace_id = %(workspace)s) as relations;

-- delete_answers: Answers without a run that cite one of the documents.
delete from answers where workspace_id = %(workspace)s and id in (
    select c.answer_id from answer_citations c join answers a on a.id = c.answer_id
    where c.workspace_id = %(workspace)s and c.document_id = any(%(documents)s)
      and not exists (select from documents d where d.id = c.document_id and d.upload_date >= %(before)s
                        and a.at >= d.upload_date));

-- delete_citations: Citations whose answers somebody else has deleted.
delete from answer_citations c where c.workspace_id = %(workspace)s and c.document_id = any(%(documents)s)
  and not exists (select from documents d where d.id = c.document_id and d.upload_date >= %(before)s);

-- unexpect: A job that is under way does not wait for a unit that goes.
update job_progress p set expected = greatest(p.expected - 1, 0),
    done = greatest(p.done - (u.status = 'done')::int, 0), failed = greatest(p.failed - (u.status = 'failed')::int, 0),
    unchanged = greatest(p.unchanged - (u.status = 'unchanged')::int, 0)
from units u join jobs j on j.id = u.job_id
where p.job_id = u.job_id and p.stage = u.stage and j.state in ('queued', 'running')
  and u.job_id = %(job)s and u.stage = %(stage)s and u.key = %(key)s;
