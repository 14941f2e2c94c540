-- fence: limits for this transaction, and a first look at it: after one Postgres lets nobody make it a writing one.
select set_config('statement_timeout', %(ms)s, true),
       set_config('lock_timeout', %(ms)s, true),
       set_config('idle_in_transaction_session_timeout', %(ms)s, true),
       set_config('standard_conforming_strings', 'on', true),
       set_config('default_transaction_read_only', %(reads)s, false);

-- doubtful: of these names the functions that may change something, as whoever defined them says.
select distinct proname
from pg_catalog.pg_proc
where provolatile = 'v' and lower(proname) = any(%(names)s);

-- extension: whether this one is there.
select exists (select from pg_catalog.pg_extension where extname = %(name)s);
