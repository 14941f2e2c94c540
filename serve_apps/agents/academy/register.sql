-- enrol: What an agent studies from now on; it may be enrolled anew.
insert into academy_enrolments as e (agent_id, tenant_id, workspace_id, track, quiz, own_quiz, enrolled_by)
values (%(agent)s::uuid, %(tenant)s, %(workspace)s, %(track)s, %(quiz)s, %(own)s, %(user)s)
on conflict (agent_id) do update set track = excluded.track, quiz = excluded.quiz, own_quiz = excluded.own_quiz,
    jobs = '{}', enrolled_by = excluded.enrolled_by, enrolled_at = clock_timestamp()
where e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s;

-- enrolment: What an agent studies.
select agent_id, track, quiz, own_quiz, jobs, enrolled_at from academy_enrolments
where agent_id = %(agent)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- jobs: What has to end before the agent is examined.
update academy_enrolments set jobs = %(jobs)s::uuid[]
where agent_id = %(agent)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- refresh: The quiz of the pack as it ships now.
update academy_enrolments set quiz = %(quiz)s
where agent_id = %(agent)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s and not own_quiz;

-- references: The agent's documents that lie in folders: their files may have changed. What came out of one follows it.
select d.origin, d.filename, v.location from document_agent_links l
join documents d on d.id = l.document_id and d.workspace_id = l.workspace_id
join document_versions v on v.id = d.current_version
where l.agent_id = %(agent)s::uuid and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and d.source_type = 'folder' and d.parent_id is null
order by d.origin;

-- readable: A document that can be searched, of those of the agent; all are where it may search the whole workspace.
select d.id from documents d
join agents a on a.id = %(agent)s::uuid and a.workspace_id = d.workspace_id
where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
  and d.current_version is not null and d.chunk_count > 0
  and (a.whole_workspace or exists (select from document_agent_links l
                                    where l.agent_id = a.id and l.document_id = d.id and l.workspace_id = d.workspace_id))
limit 1;

-- held: When the agent was enrolled; locked, so that it is not enrolled anew while this transaction judges it.
select enrolled_at from academy_enrolments
where agent_id = %(agent)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
for update;

-- job_of: The job that carries an idempotency key.
select id from jobs
where idempotency_key = %(key)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- unfinished: Which of these jobs have not ended.
select id, state from jobs
where id = any(%(jobs)s::uuid[]) and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and state in ('queued', 'running')
order by created_at;

-- uploads: Jobs of the agent's documents that somebody else began and that have not ended.
select j.id from jobs j
where j.tenant_id = %(tenant)s and j.workspace_id = %(workspace)s and j.state in ('queued', 'running')
  and j.payload ->> 'agent_id' = %(agent)s
order by j.created_at;

-- report: Keep the outcome of an examination; one due time has one.
insert into academy_reports (agent_id, tenant_id, workspace_id, track, score, pass_mark, passed, status, report, due,
    asked_by)
values (%(agent)s::uuid, %(tenant)s, %(workspace)s, %(track)s, %(score)s, %(mark)s, %(passed)s, %(status)s, %(report)s,
    %(due)s, %(user)s)
on conflict (due) do nothing
returning id, at;

-- of_due: The report of a due time, where there is one.
select id, passed, score from academy_reports
where due = %(due)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- last: The latest report of an agent.
select id, track, score, pass_mark, passed, status, report, at from academy_reports
where agent_id = %(agent)s::uuid and tenant_id = %(tenant)s and workspace_id = %(workspace)s
order by at desc limit 1;
