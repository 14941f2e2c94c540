-- tenants: A tenant by its id or its name; all where none is named.
select t.id::text as id, t.name from tenants t
where %(tenant)s::text is null or t.id::text = lower(%(tenant)s) or t.name = %(tenant)s;

-- workspaces: Workspaces of some tenants by id or name.
select w.id::text as id, w.name, w.tenant_id::text as tenant from workspaces w
where w.tenant_id = any(%(tenants)s::uuid[]) and (w.id::text = lower(%(workspace)s) or w.name = %(workspace)s)
order by w.tenant_id, w.id limit 3;
