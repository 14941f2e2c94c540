-- all: Every connection of the workspace by name (never the key, only whether there is one), beside the one that
-- somebody made the default, the workspace's own before the whole system's; one row without an id where there is none.
select chosen.value as chosen, c.id, c.name, base_url, provider, model, auth_mode, auth_header, supports_tools,
       price_in, price_out, seconds, enabled, endpoint, probed_at, c.created_at, sealed_key is not null as has_key,
       exists (select from tenants t where t.id = %(tenant)s and t.parent_id is null) as first_tenant
from (select 1) as always
left join lateral (
    select value from system_settings
    where key in ('default_llm_connection_id:' || %(workspace)s::uuid::text, 'default_llm_connection_id')
    order by length(key) desc
    limit 1
) as chosen on true
left join llm_connections c on c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s::uuid
order by c.name;

-- one: One connection, locked until the transaction ends.
select id, name, base_url, provider, model, auth_mode, auth_header, supports_tools, price_in, price_out, seconds,
       enabled, endpoint, probed_at, created_at, sealed_key is not null as has_key,
       exists (select from tenants t where t.id = %(tenant)s and t.parent_id is null) as first_tenant
from llm_connections
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = %(id)s
for update;

-- sealed: The envelope that a connection's key is in.
select sealed_key from llm_connections
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = %(id)s;

-- envelopes: Every envelope of the workspace.
select id, sealed_key from llm_connections
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and sealed_key is not null
order by id
for update;

-- add: A new connection; nothing where the workspace has one of this name.
insert into llm_connections (
    id, tenant_id, workspace_id, name, base_url, provider, model, auth_mode, auth_header, sealed_key, supports_tools,
    price_in, price_out, seconds, enabled
) values (
    %(id)s, %(tenant)s, %(workspace)s, %(name)s, %(base_url)s, %(provider)s, %(model)s, %(auth_mode)s, %(auth_header)s,
    %(sealed_key)s, %(tools)s, %(price_in)s, %(price_out)s, %(seconds)s, %(enabled)s
)
on conflict (workspace_id, name) do nothing
returning created_at, exists (select from tenants t where t.id = %(tenant)s and t.parent_id is null) as first_tenant;

-- change: The values of a connection; the endpoint that was found is forgotten where the address is another.
update llm_connections
set name = %(name)s, base_url = %(base_url)s, provider = %(provider)s, model = %(model)s, auth_mode = %(auth_mode)s,
    auth_header = %(auth_header)s, supports_tools = %(tools)s, price_in = %(price_in)s, price_out = %(price_out)s,
    seconds = %(seconds)s, enabled = %(enabled)s,
    endpoint = case when base_url = %(base_url)s and provider = %(provider)s then endpoint end,
    probed_at = case when base_url = %(base_url)s and provider = %(provider)s then probed_at end
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = %(id)s;

-- seal: Another key for a connection, or none.
update llm_connections set sealed_key = %(sealed_key)s
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = %(id)s;

-- name_taken: Whether another connection of the workspace has this name.
select 1 as taken from llm_connections
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and name = %(name)s and id <> %(id)s;

-- found: Remember the endpoint that answered, unless the address has been changed meanwhile.
update llm_connections set endpoint = %(endpoint)s, probed_at = clock_timestamp()
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = %(id)s and base_url = %(base_url)s
  and provider = %(provider)s;

-- remove: Forget a connection and its key.
delete from llm_connections
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = %(id)s;

-- make_default: From now on this one is asked where an agent names none.
insert into system_settings (key, value)
values ('default_llm_connection_id:' || %(workspace)s::text, to_jsonb(%(id)s::text))
on conflict (key) do update set value = excluded.value, updated_at = now();

-- unmake_default: It is no longer the default.
delete from system_settings
where key = 'default_llm_connection_id:' || %(workspace)s::text and value = to_jsonb(%(id)s::text);
