-- ask: Somebody wants these parts restarted.
insert into restarts (parts, asked_by) values (%(parts)s, %(user)s) returning id, asked_at;

-- show: What became of it.
select id, parts, asked_at, taken_at, done_at, error from restarts where id = %(id)s;

-- list: The newest first.
select id, parts, asked_at, taken_at, done_at, error from restarts order by id desc limit %(limit)s;

-- marks: The greatest number of each part: its applications are deployed with it.
select part, max(id) as mark from restarts, unnest(parts) as part group by part;

-- under_way: Whether parts are being restarted, or will be in a moment; one that nobody takes up is not waited for.
select exists (select 1 from restarts where parts && %(parts)s::text[] and done_at is null
               and coalesce(taken_at + make_interval(secs => %(longest)s), asked_at + make_interval(secs => %(soon)s))
                   > clock_timestamp()) as yes;

-- take: All that nobody has taken yet; whoever takes them carries them out at once.
update restarts set taken_at = clock_timestamp() where taken_at is null returning id, parts;

-- done: They ended, well or not.
update restarts set taken_at = coalesce(taken_at, clock_timestamp()), done_at = clock_timestamp(), error = %(error)s
where id = any(%(ids)s);

-- waiting: Those that are not over, and were asked for before this moment.
select id, parts from restarts where done_at is null and asked_at <= %(before)s;

-- settled: What these parts were restarted for counts now; what was changed after they were asked to does not yet.
delete from restart_needs where part = any(%(parts)s) and since <= %(before)s;

-- all_done: Everything was started anew: whoever asked for any of it has it.
update restarts set taken_at = coalesce(taken_at, clock_timestamp()), done_at = clock_timestamp()
where done_at is null and asked_at <= %(before)s;

-- all_settled: Nothing waits any more for what was changed before.
delete from restart_needs where since <= %(before)s;

-- now: The moment by Postgres' clock.
select clock_timestamp() as now;
