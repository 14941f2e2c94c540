-- used: Pages that the documents of a tenant have, with those of the transaction that asks.
select pages from tenant_pages where tenant_id = %(tenant)s;

-- count: Pages that were read for whoever brought the document, for limits over a period.
select count_usage('pages', d.workspace_id, d.created_by, null, %(pages)s, now())
from documents d where d.id = %(document)s and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s;
