-- Work that may be claimed is told on the channel aos_work, as `job:` and its lane, so that workers need not look for it
-- all the time. They look all the same, seldom: a lease that runs out and a rest that is over are told by nobody.
-- Held locks: jobs SHARE ROW EXCLUSIVE, moment.
-- Old code: runs beside it.

-- That a job waits, or has made room in its lane for another one.
create function tell_of_job() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
    perform pg_notify('aos_work', 'job:' || new.lane);
    return null;
end
$$;
create trigger new_jobs_are_told after insert on jobs for each row execute function tell_of_job();
create trigger jobs_are_told after update of state, lane, resume_at on jobs
    for each row when (new.state <> 'running') execute function tell_of_job();
