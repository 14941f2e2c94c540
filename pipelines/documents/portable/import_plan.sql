-- workspace: The workspace and how many documents it has, with those of this export.
select w.id::text as id, w.name, t.name as tenant, w.language, w.generation_id, g.embedder, g.embedder_fingerprint,
       g.dimension, g.chunker,
       (select count(*) from documents d where d.workspace_id = w.id and d.tenant_id = w.tenant_id) as documents,
       (select count(*) from documents d where d.workspace_id = w.id and d.tenant_id = w.tenant_id
          and d.metadata->'imported_from'->>'export' = %(export)s) as imported
from workspaces w join tenants t on t.id = w.tenant_id left join generations g on g.id = w.generation_id
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- people: Accounts of the tenant.
select u.email, u.id::text as id from users u where u.tenant_id = %(tenant)s and not u.disabled;

-- groups: Groups of the tenant.
select g.name from groups g where g.tenant_id = %(tenant)s and g.deleted_at is null;

-- same_bytes: Documents that have some contents, and were not brought by this export.
select distinct on (v.file_hash) v.file_hash, d.id, d.filename, d.readers
from documents d join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.parent_id is null
  and v.file_hash = any(%(hashes)s)
  and coalesce(d.metadata->'imported_from'->>'export', '') <> %(export)s
order by v.file_hash, d.upload_date, d.id;

-- erased: Contents that somebody has had erased from the tenant.
select distinct c->>'sha256' as file_hash from erasures e cross join jsonb_array_elements(e.content) c
where e.tenant_id = %(tenant)s and c->>'sha256' is not null;

-- documents: Those of some ids, and what each was imported from.
select d.id, d.metadata->'imported_from'->>'export' as export, d.metadata->'imported_from'->>'document' as document
from documents d where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.id = any(%(documents)s);

-- agents: Agents of the workspace.
select a.id::text as id, a.name from agents a where a.workspace_id = %(workspace)s and a.tenant_id = %(tenant)s;

-- golden_sets: Sets of questions of the workspace.
select g.id::text as id, g.name from golden_sets g where g.workspace_id = %(workspace)s and g.tenant_id = %(tenant)s;

-- folder_readers: Folders with readers of their own.
select f.folder, f.prefixes, f.readers from folder_readers f where f.workspace_id = %(workspace)s and f.tenant_id = %(tenant)s;
