-- open_new: A session that nobody has a name for.
insert into sessions (tenant_id, workspace_id, agent_id, user_id, title)
values (%(tenant)s, %(workspace)s, %(agent)s, %(user)s, %(title)s)
returning id, agent_id, user_id, key, title, status, created_at, updated_at, 0 as messages;

-- open_by_key: The user's session of this name, made where there is none.
insert into sessions as s (tenant_id, workspace_id, agent_id, user_id, key)
values (%(tenant)s, %(workspace)s, %(agent)s, %(user)s, %(key)s)
on conflict (workspace_id, user_id, key) where key is not null do update set updated_at = clock_timestamp()
where s.tenant_id = %(tenant)s
returning id, agent_id, user_id, key, title, status, created_at, updated_at,
    (select coalesce(max(m.seq), 0) from messages m
     where m.session_id = s.id and m.tenant_id = s.tenant_id and m.workspace_id = s.workspace_id) as messages;

-- show: A session that is the user's own, or anybody's for an administrator who reads.
select s.id, s.agent_id, s.user_id, s.key, s.title, s.status, s.created_at, s.updated_at,
    (select coalesce(max(m.seq), 0) from messages m
     where m.session_id = s.id and m.tenant_id = s.tenant_id and m.workspace_id = s.workspace_id) as messages
from sessions s
where s.id = %(session)s and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s
  and (%(everyone)s or s.user_id = %(user)s);

-- show_by_key: The user's own session of this name.
select s.id, s.agent_id, s.user_id, s.key, s.title, s.status, s.created_at, s.updated_at,
    (select coalesce(max(m.seq), 0) from messages m
     where m.session_id = s.id and m.tenant_id = s.tenant_id and m.workspace_id = s.workspace_id) as messages
from sessions s
where s.key = %(key)s and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and s.user_id = %(user)s;

-- list: The user's sessions, or everybody's, the one that was used last first.
select s.id, s.agent_id, s.user_id, s.key, s.title, s.status, s.created_at, s.updated_at,
    (select coalesce(max(m.seq), 0) from messages m
     where m.session_id = s.id and m.tenant_id = s.tenant_id and m.workspace_id = s.workspace_id) as messages
from sessions s
where s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and (%(everyone)s or s.user_id = %(user)s)
  and (%(agent)s::uuid is null or s.agent_id = %(agent)s)
order by s.updated_at desc, s.id offset %(skip)s limit %(limit)s;

-- count: How many that are.
select count(*) as total from sessions s
where s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and (%(everyone)s or s.user_id = %(user)s)
  and (%(agent)s::uuid is null or s.agent_id = %(agent)s);

-- change: Another title or status of one's own session; null leaves it.
update sessions set title = coalesce(%(title)s, title), status = coalesce(%(status)s, status)
where id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s
returning id;

-- hold: Lock one's own session until the end of the transaction, so that numbers have no gap and no twin.
update sessions set updated_at = clock_timestamp(), title = case when title = '' then %(title)s else title end
where id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s
returning status;

-- append: Number messages on from the last one; the session is held.
insert into messages (session_id, seq, tenant_id, workspace_id, role, content, run_id)
select %(session)s, last.seq + n.ordinal, %(tenant)s, %(workspace)s, n.role, n.content, n.run
from (select coalesce(max(seq), 0) as seq from messages
      where session_id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s) last,
     unnest(%(roles)s::text[], %(contents)s::jsonb[], %(runs)s::uuid[]) with ordinality as n(role, content, run, ordinal)
returning seq, role, content, run_id, created_at;

-- last: The newest messages up to a number, newest first.
select m.seq, m.role, m.content, m.run_id, m.created_at from messages m
where m.session_id = %(session)s and m.tenant_id = %(tenant)s and m.workspace_id = %(workspace)s and m.seq <= %(upto)s
order by m.seq desc limit %(limit)s;

-- after: The oldest messages after a number, oldest first.
select m.seq, m.role, m.content, m.run_id, m.created_at from messages m
where m.session_id = %(session)s and m.tenant_id = %(tenant)s and m.workspace_id = %(workspace)s and m.seq > %(after)s
order by m.seq limit %(limit)s;

-- lock: Hold one's own session before it is deleted.
select id from sessions
where id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s for update;

-- busy: A turn of the session that has not ended, or that had begun something of which nobody has said what became.
select r.id, r.state from runs r
where r.session_id = %(session)s and r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
  and (r.state in ('queued', 'running', 'waiting')
       or (r.state = 'interrupted' and exists (select from run_steps s
               where s.run_id = r.id and s.tenant_id = r.tenant_id and s.workspace_id = r.workspace_id
                 and s.kind = 'tool' and s.state = 'started'))
       or exists (select from approvals a
               where a.run_id = r.id and a.tenant_id = r.tenant_id and a.workspace_id = r.workspace_id
                 and (a.execution = 'needs_reconcile' or (a.category = 'reconcile' and a.state = 'pending'))))
limit 1;

-- delete: The session with all that hangs on it, and its runs' events, which hang on nothing.
with streams as (
    select 'run:' || id as stream from runs
    where session_id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s
), untold as (
    delete from events
    where stream in (select stream from streams) and tenant_id = %(tenant)s and workspace_id = %(workspace)s
), closed as (
    delete from event_streams
    where stream in (select stream from streams) and tenant_id = %(tenant)s and workspace_id = %(workspace)s
)
delete from sessions
where id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s;

-- summary: What was said before the messages that are still told word by word.
select upto_seq, summary, updated_at from session_summaries
where session_id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s;

-- summarise: A newer summary; an older one that comes late changes nothing.
insert into session_summaries as s (session_id, tenant_id, workspace_id, upto_seq, summary)
select id, tenant_id, workspace_id, %(upto)s, %(summary)s from sessions
where id = %(session)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s
on conflict (session_id) do update
set upto_seq = excluded.upto_seq, summary = excluded.summary, updated_at = clock_timestamp()
where s.upto_seq < excluded.upto_seq and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s;

-- facts: What is known from a session, the important first.
select f.id, f.session_id, f.category, f.importance, f.fact, f.created_at from facts f
where f.session_id = %(session)s and f.tenant_id = %(tenant)s and f.workspace_id = %(workspace)s
order by array_position(array['high', 'medium', 'low'], f.importance), f.created_at, f.id;

-- known: What is known of a user from all their sessions with one agent, the important first, then the newest.
select f.id, f.session_id, f.category, f.importance, f.fact, f.created_at from facts f
join sessions s on s.id = f.session_id and s.tenant_id = f.tenant_id and s.workspace_id = f.workspace_id
where f.tenant_id = %(tenant)s and f.workspace_id = %(workspace)s and f.user_id = %(user)s
  and (f.session_id = %(session)s or s.agent_id = %(agent)s)
order by array_position(array['high', 'medium', 'low'], f.importance), f.created_at desc, f.id limit %(limit)s;

-- learn: Facts of one's own session; one that is known already changes nothing.
insert into facts (tenant_id, workspace_id, session_id, user_id, category, importance, fact)
select s.tenant_id, s.workspace_id, s.id, s.user_id, n.category, n.importance, n.fact
from sessions s,
     unnest(%(categories)s::text[], %(importances)s::text[], %(facts)s::text[]) as n(category, importance, fact)
where s.id = %(session)s and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and s.user_id = %(user)s
on conflict (session_id, fact) do nothing;
