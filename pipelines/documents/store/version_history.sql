-- versions: The versions of one document, newest first, with how their pages stand and whether readers see them.
select v.id, v.id = d.current_version as current, v.kind, v.file_hash, v.file_size, v.page_count, v.created_at,
       (select count(*) from pages p where p.version_id = v.id and p.workspace_id = v.workspace_id) as stored,
       (select count(p.failure) from pages p where p.version_id = v.id and p.workspace_id = v.workspace_id) as failed,
       (select count(*) from document_chunks c where c.version_id = v.id and c.workspace_id = v.workspace_id) as chunks
from documents d join document_versions v on v.document_id = d.id and v.workspace_id = d.workspace_id
where d.id = %(document)s and d.workspace_id = %(workspace)s
order by v.created_at desc, v.id offset %(skip)s limit %(limit)s;

-- version: One version of a document that the reader may see.
select d.filename, v.id as version_id, v.id = d.current_version as current, v.file_hash, v.kind, v.location, v.page_count
from documents d join document_versions v on v.document_id = d.id and v.workspace_id = d.workspace_id
where d.id = %(document)s and d.workspace_id = %(workspace)s and v.id = %(version)s;

-- pages: How the pages of a version were read, in order; without their text.
select p.number, p.engine, p.confidence, p.failure, p.caveats, p.ms, p.read_at, length(p.text) as characters,
       jsonb_array_length(p.words) as words
from pages p
where p.version_id = %(version)s and p.workspace_id = %(workspace)s and (not %(failed)s or p.failure is not null)
  and (not %(caveats)s or p.caveats <> '[]')
order by p.number offset %(skip)s limit %(limit)s;

-- count: How many pages the same question finds.
select count(*) as total from pages p
where p.version_id = %(version)s and p.workspace_id = %(workspace)s and (not %(failed)s or p.failure is not null)
  and (not %(caveats)s or p.caveats <> '[]');

-- page: One page of a version.
select p.number, p.text, p.words, p.confidence, p.engine, p.attempts, p.ms, p.failure, p.caveats, p.read_at,
       p.personal_data
from pages p where p.version_id = %(version)s and p.number = %(number)s and p.workspace_id = %(workspace)s;
