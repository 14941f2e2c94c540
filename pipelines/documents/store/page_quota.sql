-- used: Pages that the documents of a tenant have, with those of the transaction that asks.
select pages from tenant_pages where tenant_id = %(tenant)s;
