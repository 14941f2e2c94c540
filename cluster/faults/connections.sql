-- cut_connections: end every connection of the product to its database but this one, whatever it was in the middle of.
select count(*) filter (where pg_terminate_backend(pid)) as cut
from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid();
