-- runs_about: Runs that are found, or whose answer cites one of the documents, with what came later in their conversations,
-- and what is above and below them in a delegation.
with recursive first as (
    select r.id, r.session_id, r.created_at from runs r
    where r.workspace_id = %(workspace)s
      and (r.id::text = any(%(runs)s) or r.id in (
            select coalesce(a.run_id, a.id) from answers a join answer_citations c on c.answer_id = a.id
            where c.workspace_id = %(workspace)s and c.document_id = any(%(documents)s)
              and not exists (select from documents d where d.id = c.document_id and d.upload_date >= %(before)s
                                and a.at >= d.upload_date)))
), about (id) as (
    select r.id from runs r join first f on f.session_id = r.session_id and r.created_at >= f.created_at
    where r.workspace_id = %(workspace)s
    union
    select r.id from runs r where r.id::text = any(%(told)s) and r.workspace_id = %(workspace)s
    union
    select o.id from runs r join about a on a.id = r.id
    join runs o on o.workspace_id = r.workspace_id and (o.parent_id = r.id or o.id = r.parent_id)
)
select r.id::text as id, r.state, r.session_id::text as session, r.parent_id::text as parent from runs r join about a on a.id = r.id;

-- wait_for_holds: Whoever puts a hold in this tenant is waited for, and waits until this has ended.
select wait_for_holds(%(tenant)s::uuid);

-- refuse_held: Raises where the workspace is held, or somebody to whom some conversations, runs, answers or facts belong.
select refuse_if_held(%(tenant)s::uuid, array_agg(x.kind), array_agg(x.who)) from (
    select 'workspace' as kind, %(workspace)s::text as who where %(any)s
    union select 'person', unnest(%(users)s::text[])
    union select 'person', s.user_id::text from sessions s
    where s.workspace_id = %(workspace)s::uuid
      and (s.id = any(%(sessions)s::uuid[]) or s.id in (
            select r.session_id from runs r where r.id = any(%(runs)s::uuid[]) and r.workspace_id = %(workspace)s::uuid))
    union select 'person', r.user_id::text from runs r
    where r.id = any(%(runs)s::uuid[]) and r.workspace_id = %(workspace)s::uuid
    union select 'person', a.user_id::text from answers a
    where a.id = any(%(answers)s::uuid[]) and a.workspace_id = %(workspace)s::uuid and a.user_id is not null
    union select 'person', f.user_id::text from facts f
    where f.id = any(%(facts)s::uuid[]) and f.workspace_id = %(workspace)s::uuid) x;

-- refuse_quoted: Raises where some runs, or runs of some conversations, quote a document that is held.
select refuse_if_quote_held(%(tenant)s::uuid, %(workspace)s::uuid, array_agg(x.run)) from (
    select unnest(%(runs)s::uuid[]) as run
    union select coalesce(a.run_id, a.id) from answers a
    where a.id = any(%(answers)s::uuid[]) and a.workspace_id = %(workspace)s::uuid
    union select r.id from runs r where r.session_id = any(%(sessions)s::uuid[]) and r.workspace_id = %(workspace)s::uuid) x;

-- count_run_steps: Steps of journals that go with their runs.
select count(*) as total from run_steps where run_id = any(%(runs)s::uuid[]) and workspace_id = %(workspace)s;

-- count_approvals: Approvals that go with their runs.
select count(*) as total from approvals where run_id = any(%(runs)s::uuid[]) and workspace_id = %(workspace)s;

-- count_run_feedback: Opinions that go with their runs.
select count(*) as total from run_feedback where run_id = any(%(runs)s::uuid[]) and workspace_id = %(workspace)s;

-- delete_session_summaries: What was said in their conversations is summed up anew from what is left.
delete from session_summaries where workspace_id = %(workspace)s
  and session_id in (select session_id from runs where id = any(%(runs)s::uuid[]) and workspace_id = %(workspace)s);

-- delete_episodes: What their conversations were about.
delete from episodes where workspace_id = %(workspace)s
  and session_id in (select session_id from runs where id = any(%(runs)s::uuid[]) and workspace_id = %(workspace)s);

-- delete_facts: What was taken from their conversations.
delete from facts where workspace_id = %(workspace)s
  and session_id in (select session_id from runs where id = any(%(runs)s::uuid[]) and workspace_id = %(workspace)s);

-- delete_answer_citations: Places that their answers rest on.
delete from answer_citations where workspace_id = %(workspace)s and answer_id in (
    select id from answers where workspace_id = %(workspace)s and coalesce(run_id, id) = any(%(runs)s::uuid[]));

-- delete_answers: Their answers.
delete from answers where workspace_id = %(workspace)s and coalesce(run_id, id) = any(%(runs)s::uuid[]);

-- delete_events: What they have told.
delete from events where workspace_id = %(workspace)s
  and stream in (select 'run:' || id from unnest(%(runs)s::uuid[]) as r(id));

-- delete_event_streams: Their counters.
delete from event_streams where workspace_id = %(workspace)s
  and stream in (select 'run:' || id from unnest(%(runs)s::uuid[]) as r(id));

-- replies: What they have answered in conversations.
select jsonb_build_object('session_id', m.session_id, 'seq', m.seq) as id, m.content from messages m
where m.workspace_id = %(workspace)s and m.run_id = any(%(runs)s::uuid[]) and m.role <> 'user' for update;

-- rewrite_message: A message without what was erased; it keeps its number.
update messages set content = %(content)s
where session_id = %(session_id)s::uuid and seq = %(seq)s and workspace_id = %(its_workspace)s;

-- delete_runs: The runs; journals, approvals and opinions follow.
delete from runs where id = any(%(runs)s::uuid[]) and workspace_id = %(workspace)s;
