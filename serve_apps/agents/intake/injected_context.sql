-- workspace: What the workspace of a turn is called.
select name from workspaces where id = %(workspace)s and tenant_id = %(tenant)s;

-- files: Documents that a turn names, with the beginning of their text; readers are checked by row-level security.
select d.id, d.filename, d.file_type, d.status, v.page_count,
    (select left(string_agg(p.text, E'\n' order by p.number), %(most)s) from pages p
     where p.version_id = d.current_version and p.workspace_id = d.workspace_id and p.number <= 3) as text
from documents d
left join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
where d.id = any(%(documents)s) and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s;
