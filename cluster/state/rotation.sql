-- credentials: Envelopes of credentials that were sealed with another key, some hundred at a time.
select id, tenant_id, workspace_id, sealed from credentials
where substring(sealed from 2 for 8) <> %(key)s and id > %(after)s::uuid order by id limit %(most)s;

-- reseal_credentials: Another envelope, unless somebody stored another secret meanwhile.
update credentials set sealed = %(fresh)s where id = %(id)s and sealed = %(before)s;

-- count_credentials: How many there are, and how many of them another key sealed.
select count(*) as total, count(*) filter (where substring(sealed from 2 for 8) <> %(key)s) as old from credentials;

-- llm_connections: Envelopes of connections' keys that were sealed with another key.
select id, tenant_id, workspace_id, sealed_key as sealed from llm_connections
where substring(sealed_key from 2 for 8) <> %(key)s and id > %(after)s::uuid order by id limit %(most)s;

-- reseal_llm_connections: As for credentials.
update llm_connections set sealed_key = %(fresh)s where id = %(id)s and sealed_key = %(before)s;

-- count_llm_connections: As for credentials.
select count(*) as total, count(*) filter (where substring(sealed_key from 2 for 8) <> %(key)s) as old
from llm_connections where sealed_key is not null;

-- run_secrets: Envelopes of what stands for the placeholders of runs.
select id, tenant_id, workspace_id, sealed from run_secrets
where substring(sealed from 2 for 8) <> %(key)s and id > %(after)s::uuid order by id limit %(most)s;

-- reseal_run_secrets: As for credentials.
update run_secrets set sealed = %(fresh)s where id = %(id)s and sealed = %(before)s;

-- count_run_secrets: As for credentials.
select count(*) as total, count(*) filter (where substring(sealed from 2 for 8) <> %(key)s) as old from run_secrets;

-- oauth_connections: Envelopes of people's tokens; an ended connection has none.
select id, tenant_id, workspace_id, sealed from oauth_connections
where substring(sealed from 2 for 8) <> %(key)s and id > %(after)s::uuid order by id limit %(most)s;

-- reseal_oauth_connections: As for credentials.
update oauth_connections set sealed = %(fresh)s where id = %(id)s and sealed = %(before)s;

-- count_oauth_connections: As for credentials.
select count(*) as total, count(*) filter (where substring(sealed from 2 for 8) <> %(key)s) as old
from oauth_connections where sealed is not null;

-- webhook_secrets: Envelopes of the secrets that sign webhooks.
select id, tenant_id, workspace_id, sealed from webhook_secrets
where substring(sealed from 2 for 8) <> %(key)s and id > %(after)s::uuid order by id limit %(most)s;

-- reseal_webhook_secrets: As for credentials.
update webhook_secrets set sealed = %(fresh)s where id = %(id)s and sealed = %(before)s;

-- count_webhook_secrets: As for credentials.
select count(*) as total, count(*) filter (where substring(sealed from 2 for 8) <> %(key)s) as old from webhook_secrets;

-- system_settings: The settings that are secrets.
select key, value from system_settings where jsonb_typeof(value) = 'object' and value ? 'sealed' order by key;

-- reseal_system_settings: As for credentials.
update system_settings set value = %(fresh)s where key = %(key)s and value = %(before)s;
