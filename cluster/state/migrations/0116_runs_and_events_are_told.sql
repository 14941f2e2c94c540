-- Runs that nobody reads and events that a webhook is to be sent are told on the channel aos_work, too, as `run:` and
-- `webhook:`. What rests until a moment, and a lease that runs out, are told by nobody: they are looked for, seldom.
-- Held locks: runs SHARE ROW EXCLUSIVE, moment; webhook_deliveries SHARE ROW EXCLUSIVE, moment.
-- Old code: runs beside it.

create function tell_of_work() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
    perform pg_notify('aos_work', tg_argv[0]);
    return null;
end
$$;
create trigger new_runs_are_told after insert on runs
    for each row when (new.state = 'queued' and not new.attended) execute function tell_of_work('run:');
create trigger runs_are_told after update of state, attended, cancel_requested on runs
    for each row when (new.state = 'queued' and (not new.attended or new.cancel_requested))
    execute function tell_of_work('run:');
create trigger new_deliveries_are_told after insert on webhook_deliveries
    for each statement execute function tell_of_work('webhook:');
create trigger deliveries_are_told after update of state, next_at on webhook_deliveries
    for each row when (new.state = 'pending' and new.next_at <= clock_timestamp())
    execute function tell_of_work('webhook:');
