-- known: The languages that Postgres can cut endings in; `simple` cuts none.
select cfgname::text as name from pg_ts_config where cfgnamespace = 'pg_catalog'::regnamespace order by cfgname;

-- current: The language of a workspace.
select language from workspaces where id = %(workspace)s and tenant_id = %(tenant)s;

-- change: Cut the words of all its chunks anew.
select set_language(%(language)s) as chunks;
