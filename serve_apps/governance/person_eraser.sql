-- workspaces: All of a tenant's, the oldest first.
select w.id::text as id from workspaces w where w.tenant_id = %(tenant)s order by w.created_at, w.id;

-- account: An account by its id.
select u.id, u.email from users u where u.id = %(user)s and u.tenant_id = %(tenant)s;

-- accounts: Those of some accounts that the tenant has from before a moment.
select u.id::text as id from users u
where u.id = any(%(users)s::uuid[]) and u.tenant_id = %(tenant)s and u.created_at < %(before)s order by u.id;

-- refuse_held: Raises where the person is held.
select refuse_if_held(%(tenant)s::uuid, array['person'], array[%(user)s::text]);

-- refuse_held_quotes: Raises where a run or an answer of theirs quotes a document that is held.
select refuse_if_quote_held(%(tenant)s::uuid, %(workspace)s::uuid, array_agg(x.run)) from (
    select r.id as run from runs r where r.workspace_id = %(workspace)s and r.user_id = any(%(users)s::uuid[])
    union select coalesce(a.run_id, a.id) from answers a
    where a.workspace_id = %(workspace)s and a.user_id = any(%(users)s::uuid[])) x;

-- refuse_held_workspace: Raises where the workspace is held.
select refuse_if_held(%(tenant)s::uuid, array['workspace'], array[%(workspace)s::text]);

-- conversations: Their conversations with the runs of each, and a run that has not ended.
select s.id::text as session, count(distinct m.seq) as messages,
       coalesce(array_agg(distinct r.id::text) filter (where r.id is not null), '{}') as runs,
       min(r.id::text) filter (where r.state in ('queued', 'running')) as busy
from sessions s
left join messages m on m.session_id = s.id and m.workspace_id = s.workspace_id
left join runs r on r.session_id = s.id and r.workspace_id = s.workspace_id
where s.user_id = any(%(users)s::uuid[]) and s.workspace_id = %(workspace)s
group by s.id;

-- delete_feedback: Their opinions, and those of their runs.
delete from run_feedback where workspace_id = %(workspace)s and (user_id = any(%(users)s::uuid[]) or run_id in (
    select r.id from runs r left join sessions s on s.id = r.session_id
    where r.workspace_id = %(workspace)s and (r.user_id = any(%(users)s::uuid[]) or s.user_id = any(%(users)s::uuid[]))));

-- delete_answer_citations: What their answers rest on.
delete from answer_citations where workspace_id = %(workspace)s and answer_id in (
    select id from answers where workspace_id = %(workspace)s and user_id = any(%(users)s::uuid[]));

-- delete_answers: Their questions with the answers.
delete from answers where workspace_id = %(workspace)s and user_id = any(%(users)s::uuid[]);

-- delete_facts: What was kept of what they said.
delete from facts where workspace_id = %(workspace)s and (user_id = any(%(users)s::uuid[]) or session_id in (
    select id from sessions where user_id = any(%(users)s::uuid[]) and workspace_id = %(workspace)s));

-- delete_events: What their runs have told.
delete from events where workspace_id = %(workspace)s and stream in (select 'run:' || x.id from (
    select r.id from runs r left join sessions s on s.id = r.session_id
    where r.workspace_id = %(workspace)s and (r.user_id = any(%(users)s::uuid[]) or s.user_id = any(%(users)s::uuid[]))) x);

-- delete_event_streams: Their counters.
delete from event_streams where workspace_id = %(workspace)s and stream in (select 'run:' || x.id from (
    select r.id from runs r left join sessions s on s.id = r.session_id
    where r.workspace_id = %(workspace)s and (r.user_id = any(%(users)s::uuid[]) or s.user_id = any(%(users)s::uuid[]))) x);

-- delete_run_steps: The journals of their runs.
delete from run_steps where workspace_id = %(workspace)s and run_id in (
    select r.id from runs r left join sessions s on s.id = r.session_id
    where r.workspace_id = %(workspace)s and (r.user_id = any(%(users)s::uuid[]) or s.user_id = any(%(users)s::uuid[])));

-- delete_approvals: What was to be approved in their runs.
delete from approvals where workspace_id = %(workspace)s and run_id in (
    select r.id from runs r left join sessions s on s.id = r.session_id
    where r.workspace_id = %(workspace)s and (r.user_id = any(%(users)s::uuid[]) or s.user_id = any(%(users)s::uuid[])));

-- delete_messages: What was said in their conversations.
delete from messages where workspace_id = %(workspace)s and session_id in (
    select id from sessions where user_id = any(%(users)s::uuid[]) and workspace_id = %(workspace)s);

-- delete_session_summaries: What their conversations were summed up to.
delete from session_summaries where workspace_id = %(workspace)s and session_id in (
    select id from sessions where user_id = any(%(users)s::uuid[]) and workspace_id = %(workspace)s);

-- delete_episodes: What their conversations were about.
delete from episodes where workspace_id = %(workspace)s and session_id in (
    select id from sessions where user_id = any(%(users)s::uuid[]) and workspace_id = %(workspace)s);

-- delete_runs: Their runs.
delete from runs where workspace_id = %(workspace)s and id in (
    select r.id from runs r left join sessions s on s.id = r.session_id
    where r.workspace_id = %(workspace)s and (r.user_id = any(%(users)s::uuid[]) or s.user_id = any(%(users)s::uuid[])));

-- delete_credentials: Credentials of their conversations alone.
delete from credentials where workspace_id = %(workspace)s and context_id in (
    select id from sessions where user_id = any(%(users)s::uuid[]) and workspace_id = %(workspace)s);

-- delete_oauth_attempts: Connections that they have begun.
delete from oauth_attempts where workspace_id = %(workspace)s and user_id = any(%(users)s::uuid[]);

-- delete_oauth_connections: Their tokens for services.
delete from oauth_connections where workspace_id = %(workspace)s and user_id = any(%(users)s::uuid[]);

-- delete_sessions: Their conversations.
delete from sessions where workspace_id = %(workspace)s and user_id = any(%(users)s::uuid[]);

-- readers: Documents that name people among their readers.
select d.id, d.readers from documents d where d.workspace_id = %(workspace)s and d.readers::text like '%%user:%%' order by d.id;

-- change_readers: A document without a name among its readers; what was copied of them follows.
update documents set readers = %(readers)s where id = %(document)s and workspace_id = aos_workspace();

-- folder_readers: Folders that name people among their readers.
select f.folder, f.readers from folder_readers f
where f.workspace_id = %(workspace)s and f.readers::text like '%%user:%%' order by f.folder;

-- change_folder_readers: A folder without a name among its readers.
update folder_readers set readers = %(readers)s where folder = %(folder)s and workspace_id = %(workspace)s;

-- source_readers: Sources that name people among the readers of their documents.
select s.id, s.readers from sources s
where s.workspace_id = %(workspace)s and s.readers::text like '%%user:%%' order by s.id;

-- change_source_readers: A source without a name among its readers.
update sources set readers = %(readers)s where id = %(id)s and workspace_id = %(workspace)s;

-- item_readers: Items that left, whose documents named people before.
select i.source_id, i.item_id, i.kept_readers as readers from source_items i
where i.workspace_id = %(workspace)s and i.kept_readers::text like '%%user:%%' order by i.source_id, i.item_id;

-- change_item_readers: An item that left, without a name among those.
update source_items set kept_readers = %(readers)s
where source_id = %(source_id)s and item_id = %(item_id)s and workspace_id = %(workspace)s;

-- principals: Whom the workspace's documents have ever named.
select p.principal from document_principals p where p.workspace_id = %(workspace)s;

-- forget_principals: Names that no document has any more.
delete from document_principals where workspace_id = %(workspace)s and principal = any(%(principals)s);

-- delete_limits: Limits of theirs.
delete from rate_limits where tenant_id = %(tenant)s and subject_kind = 'user' and subject_id = %(user)s::uuid;

-- delete_account: The account; memberships, keys, tokens and groups follow.
delete from users where id = %(user)s and tenant_id = %(tenant)s;
