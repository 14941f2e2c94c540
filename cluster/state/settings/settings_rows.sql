-- lock: Whoever changes settings does it alone, from reading the version to the end of the transaction.
select pg_advisory_xact_lock(hashtext('aos.settings'));

-- version: The number that grows with every change.
select version from settings_version;

-- all: Every row that may be a setting, with the moment of its last change.
select key, value, updated_at from system_settings where not starts_with(key, 'default_llm_connection_id')
order by key;

-- put: Set one.
insert into system_settings (key, value) values (%(key)s, %(value)s)
on conflict (key) do update set value = excluded.value, updated_at = clock_timestamp();

-- drop: Forget one.
delete from system_settings where key = %(key)s;

-- need: A part has to be restarted before these settings count there.
insert into restart_needs (part, keys) values (%(part)s, %(keys)s)
on conflict (part) do update set
    keys = (select array_agg(distinct k order by k) from unnest(restart_needs.keys || excluded.keys) as k),
    since = clock_timestamp();

-- needs: What waits for a restart.
select part, keys, since from restart_needs order by part;
