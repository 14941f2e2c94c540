-- give: A person's opinion of a run, in place of the one they had; no row where there is no such run here.
insert into run_feedback as f (run_id, user_id, tenant_id, workspace_id, thumb, word)
select r.id, %(user)s, r.tenant_id, r.workspace_id, %(thumb)s, %(word)s from runs r
where r.id = %(run)s and r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
on conflict (run_id, user_id) do update
set thumb = excluded.thumb, word = excluded.word, at = clock_timestamp()
where f.tenant_id = %(tenant)s and f.workspace_id = %(workspace)s
returning run_id, user_id, thumb, word, at;

-- take_back: Forget a person's opinion.
delete from run_feedback
where run_id = %(run)s and user_id = %(user)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s
returning run_id;

-- of_run: Every opinion of a run, the newest first.
select run_id, user_id, thumb, word, at from run_feedback
where run_id = %(run)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s
order by at desc, user_id limit 200;
