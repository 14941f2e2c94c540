-- of_workspace: The strategy of a workspace; null takes the settings'.
select chunk_strategy from workspaces where id = %(workspace)s and tenant_id = %(tenant)s;

-- of_version: The strategies of a workspace and of the document of a version.
select w.chunk_strategy as workspace,
       (select d.chunk_strategy from documents d join document_versions v on v.document_id = d.id
        where v.id = %(version)s and d.workspace_id = w.id) as own
from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- change_workspace: From now on.
update workspaces set chunk_strategy = %(strategy)s where id = %(workspace)s and tenant_id = %(tenant)s;

-- change_document: From its next cut on; null takes the workspace's.
update documents set chunk_strategy = %(strategy)s
where id = %(document)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s;
