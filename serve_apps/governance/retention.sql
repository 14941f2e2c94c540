-- rules: Rules of the tenant, and of its workspaces.
select class, workspace_id, days, set_by, set_at from retention_rules where tenant_id = %(tenant)s order by workspace_id nulls first, class;

-- set_rule: A rule in the place of an earlier one.
insert into retention_rules (tenant_id, workspace_id, class, days, set_by)
values (%(tenant)s, %(workspace)s, %(class)s, %(days)s, %(user)s)
on conflict (tenant_id, workspace_id, class) do update
set days = excluded.days, set_by = excluded.set_by, set_at = clock_timestamp();

-- drop_rule: No rule any more: what is above it counts.
delete from retention_rules where tenant_id = %(tenant)s and workspace_id is not distinct from %(workspace)s::uuid and class = %(class)s;

-- claim: The tenant whose turn it is.
select claim_retention(%(now)s::timestamptz, %(every)s::interval)::text as tenant;

-- workspaces: All of a tenant's, the oldest first.
select w.id::text as id from workspaces w where w.tenant_id = %(tenant)s order by w.created_at, w.id;

-- workspace: One of the tenant's.
select w.id from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- aged_documents: Documents of which nothing came since a moment, and which of them are held.
select d.id, d.upload_date as at,
       is_held(%(tenant)s::uuid, %(workspace)s::uuid, 'document', d.id) as held
from documents d
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.parent_id is null and greatest(d.upload_date, coalesce((select max(v.created_at) from document_versions v
        where v.document_id = d.id), d.upload_date)) < %(before)s
  and d.status not in ('pending', 'processing');

-- aged_versions: Versions that newer ones have replaced, from before a moment, and which of them are held.
select v.id, v.created_at as at,
       is_held(%(tenant)s::uuid, %(workspace)s::uuid, 'document', v.document_id) as held
from document_versions v join documents d on d.id = v.document_id and d.workspace_id = v.workspace_id
where v.workspace_id = %(workspace)s and v.tenant_id = %(tenant)s and v.created_at < %(before)s
  and d.current_version is not null and v.id <> d.current_version
  and v.created_at < (select c.created_at from document_versions c where c.id = d.current_version);

-- delete_versions: Those go.
delete from document_versions where id = any(%(ids)s) and workspace_id = %(workspace)s returning location;

-- aged_answers: Answers from before a moment, and which of them are held.
select a.id, a.at as at,
       is_run_held(%(tenant)s::uuid, %(workspace)s::uuid, a.user_id, coalesce(a.run_id, a.id)) as held
from answers a
where a.workspace_id = %(workspace)s and a.tenant_id = %(tenant)s and a.at < %(before)s;

-- delete_answers: Those go.
delete from answers where id = any(%(ids)s) and workspace_id = %(workspace)s;

-- aged_conversations: Conversations in which nothing was said since a moment, and which of them are held.
select s.id, s.updated_at as at,
       is_conversation_held(%(tenant)s::uuid, %(workspace)s::uuid, s.user_id, s.id) as held
from sessions s
where s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s and s.updated_at < %(before)s
  and not exists (select from runs r where r.session_id = s.id and (
        r.state in ('queued', 'running', 'waiting', 'interrupted')
        or exists (select from approvals a where a.run_id = r.id and a.execution in ('started', 'needs_reconcile'))));

-- delete_conversations: Those go.
with gone as (select 'run:' || r.id as stream from runs r where r.session_id = any(%(ids)s) and r.workspace_id = %(workspace)s),
untold as (delete from events where stream in (select stream from gone) and workspace_id = %(workspace)s),
closed as (delete from event_streams where stream in (select stream from gone) and workspace_id = %(workspace)s)
delete from sessions where id = any(%(ids)s) and workspace_id = %(workspace)s;

-- aged_messages: Messages from before a moment; the newest of a conversation stays, as the next is numbered after it, and which of them are held.
with held as materialized (
    select s.id from sessions s
    where s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s
      and exists (select from messages m where m.session_id = s.id and m.created_at < %(before)s)
      and is_conversation_held(%(tenant)s::uuid, %(workspace)s::uuid, s.user_id, s.id))
select m.session_id, m.seq, m.created_at as at,
       s.id in (select id from held) as held
from messages m join sessions s on s.id = m.session_id and s.workspace_id = m.workspace_id
where m.workspace_id = %(workspace)s and m.tenant_id = %(tenant)s and m.created_at < %(before)s
  and m.seq < (select max(l.seq) from messages l where l.session_id = m.session_id);

-- delete_messages: Those go.
delete from messages m using unnest(%(ids)s::uuid[], %(seqs)s::int[]) as g(id, seq)
where m.session_id = g.id and m.seq = g.seq and m.workspace_id = %(workspace)s;

-- aged_runs: Runs that ended before a moment, and which of them are held.
select r.id, r.finished_at as at,
       is_run_held(%(tenant)s::uuid, %(workspace)s::uuid, r.user_id, r.id) as held
from runs r
where r.workspace_id = %(workspace)s and r.tenant_id = %(tenant)s and r.parent_id is null and r.state in ('completed', 'failed', 'cancelled') and r.finished_at < %(before)s
  and not exists (select from approvals a where a.run_id = r.id
                    and (a.execution in ('started', 'needs_reconcile') or a.state = 'pending'));

-- delete_runs: Those go.
with untold as (delete from events where stream in (select 'run:' || id from unnest(%(ids)s::uuid[]) as g(id)) and workspace_id = %(workspace)s),
closed as (delete from event_streams where stream in (select 'run:' || id from unnest(%(ids)s::uuid[]) as g(id)) and workspace_id = %(workspace)s)
delete from runs where id = any(%(ids)s) and workspace_id = %(workspace)s;

-- aged_journals: Runs that ended before a moment and still have their journal, and which of them are held.
select r.id, r.finished_at as at,
       is_run_held(%(tenant)s::uuid, %(workspace)s::uuid, r.user_id, r.id) as held
from runs r
where r.workspace_id = %(workspace)s and r.tenant_id = %(tenant)s and r.state in ('completed', 'failed', 'cancelled') and r.finished_at < %(before)s
  and not exists (select from approvals a where a.run_id = r.id
                    and (a.execution in ('started', 'needs_reconcile') or a.state = 'pending'))
  and (exists (select from run_steps s where s.run_id = r.id) or exists (select from events e where e.stream = 'run:' || r.id));

-- delete_journals: Those go.
with untold as (delete from events where stream in (select 'run:' || id from unnest(%(ids)s::uuid[]) as g(id)) and workspace_id = %(workspace)s returning stream),
steps as (delete from run_steps where run_id = any(%(ids)s) and workspace_id = %(workspace)s returning run_id)
select (select count(distinct stream) from untold) + (select count(*) from steps) as total;

-- wait_for_holds: Whoever puts a hold in this tenant is waited for, and waits until this has ended.
select wait_for_holds(%(tenant)s::uuid);

-- any_held: Whether anything of a workspace is held.
select exists (select from legal_holds h where h.tenant_id = %(tenant)s and h.released_at is null
               and (h.kind <> 'workspace' or h.object_id = %(workspace)s::text)) as held;

-- aged_pages: Jobs that ended before a moment, have nothing left to be resumed or retried, and still have their units or events, and which of them are held.
select j.id, j.finished_at as at,
       (is_held(%(tenant)s::uuid, %(workspace)s::uuid, 'workspace', %(workspace)s::text) or exists (
        select from units u join documents d on d.workspace_id = u.workspace_id and d.origin = u.key
        where u.job_id = j.id and u.stage = 'survey' and is_held(%(tenant)s::uuid, %(workspace)s::uuid, 'document', d.id)) or exists (
        select from units u join document_versions v on v.id in (u.key, u.subject) and v.workspace_id = u.workspace_id
        where u.job_id = j.id and is_held(%(tenant)s::uuid, %(workspace)s::uuid, 'document', v.document_id))) as held
    from jobs j
    where j.workspace_id = %(workspace)s and j.tenant_id = %(tenant)s and j.state in ('completed', 'partial', 'failed', 'cancelled')
  and j.finished_at < %(before)s
  and not exists (select from units u where u.job_id = j.id and u.status in ('pending', 'failed'))
  and (exists (select from units u where u.job_id = j.id) or exists (select from events e where e.stream = 'job:' || j.id));

-- delete_pages: Those go; jobs stay, with their counts, and pages with what readers see.
with untold as (delete from events where stream in (select 'job:' || id from unnest(%(ids)s::uuid[]) as g(id)) and workspace_id = %(workspace)s returning stream),
closed as (delete from event_streams where stream in (select 'job:' || id from unnest(%(ids)s::uuid[]) as g(id)) and workspace_id = %(workspace)s),
went as (delete from units u where u.job_id = any(%(ids)s) and u.workspace_id = %(workspace)s returning u.job_id)
select (select count(*) from untold) + (select count(*) from went) as total;

-- aged_memory: What was remembered of conversations before a moment, and which of them are held.
select m.kind, m.id, m.at as at,
       is_conversation_held(%(tenant)s::uuid, %(workspace)s::uuid, m.whose, m.said_in) as held from (
    select 'fact' as kind, f.id, f.created_at as at, f.user_id as whose, f.session_id as said_in from facts f
    where f.workspace_id = %(workspace)s and f.tenant_id = %(tenant)s and f.created_at < %(before)s
    union all
    select 'episode', e.session_id, e.updated_at, s.user_id, s.id from episodes e
    join sessions s on s.id = e.session_id and s.workspace_id = e.workspace_id
    where e.workspace_id = %(workspace)s and e.tenant_id = %(tenant)s and e.updated_at < %(before)s
    union all
    select 'summary', y.session_id, y.updated_at, s.user_id, s.id from session_summaries y
    join sessions s on s.id = y.session_id and s.workspace_id = y.workspace_id
    where y.workspace_id = %(workspace)s and y.tenant_id = %(tenant)s and y.updated_at < %(before)s and y.summary <> '') m;

-- delete_memory: Those go; of a summary the words, for what it covers is not to be summed up again.
with given as (select * from unnest(%(kinds)s::text[], %(ids)s::uuid[]) as g(kind, id)),
facts_gone as (delete from facts f using given g where g.kind = 'fact' and f.id = g.id and f.workspace_id = %(workspace)s returning f.id),
episodes_gone as (delete from episodes e using given g where g.kind = 'episode' and e.session_id = g.id and e.workspace_id = %(workspace)s returning e.session_id),
emptied as (update session_summaries y set summary = '' from given g where g.kind = 'summary' and y.session_id = g.id and y.workspace_id = %(workspace)s returning y.session_id)
select (select count(*) from facts_gone) + (select count(*) from episodes_gone) + (select count(*) from emptied) as total;

-- aged_traces: Runs and answers from before a moment that still say how they came about, passages that answers used among it,
-- and which of them are held.
select t.id, t.at as at,
       is_run_held(%(tenant)s::uuid, %(workspace)s::uuid, t.whose, t.run) as held from (
    select x.id, min(x.at) as at, min(x.whose)::uuid as whose, min(x.run)::uuid as run from (
    select r.id, r.finished_at as at, r.user_id::text as whose, r.id::text as run from runs r
    where r.workspace_id = %(workspace)s and r.tenant_id = %(tenant)s and r.state in ('completed', 'failed', 'cancelled')
      and r.finished_at < %(before)s and jsonb_array_length(coalesce(nullif(r.outcome -> 'trace', 'null'), '[]')) > 0
    union all
    select a.id, a.at, a.user_id::text, coalesce(a.run_id, a.id)::text from answers a
    where a.workspace_id = %(workspace)s and a.tenant_id = %(tenant)s and a.at < %(before)s and a.search <> '{}') x group by x.id) t
union all
-- Of an answer's use nobody knows whose it was: a hold on the documents keeps it.
select u.use_id, max(u.used_at), bool_or(is_held(%(tenant)s::uuid, %(workspace)s::uuid, 'document', u.document_id))
from context_usage u
where u.workspace_id = %(workspace)s and u.tenant_id = %(tenant)s and u.used_at < %(before)s group by u.use_id;

-- delete_traces: That goes; the runs and the answers stay, and how often documents were used.
with runs_done as (update runs set outcome = jsonb_set(outcome, '{trace}', '[]')
                   where id = any(%(ids)s) and workspace_id = %(workspace)s and outcome ? 'trace' returning id),
answers_done as (update answers set search = '{}' where id = any(%(ids)s) and workspace_id = %(workspace)s and search <> '{}' returning id),
uses_done as (delete from context_usage where use_id = any(%(ids)s) and workspace_id = %(workspace)s returning use_id)
select (select count(*) from runs_done) + (select count(*) from answers_done) + (select count(*) from uses_done) as total;

-- locations_in_use: Where bytes are that some version still has.
select location from document_versions where workspace_id = %(workspace)s and location = any(%(locations)s);

-- count_audit: Entries of the trail from before a moment, unless anything of the tenant is held: the trail is evidence then.
select case when held then 0 else total end as due, case when held then total else 0 end as held from (
    select count(*) as total, exists (select from legal_holds h where h.tenant_id = %(tenant)s and h.released_at is null) as held
    from audit a where a.tenant_id = %(tenant)s and a.at < %(before)s) x;

-- prune_audit: The oldest entries go, and an anchor keeps the chain.
select prune_audit(%(before)s::timestamptz, %(most)s::int, %(actor)s) as went;

-- freed_blobs: Uploaded bytes that were freed before a moment, and whether anything has them again, or is about to.
with listed as materialized (
    select f.location, f.freed_at from freed_blobs f
    where f.workspace_id = %(workspace)s and f.tenant_id = %(tenant)s and f.freed_at < %(before)s
    order by f.freed_at, f.location limit %(most)s),
used as materialized (  -- each table is read once for the whole batch
    select v.location from document_versions v
    where v.workspace_id = %(workspace)s and v.location in (select location from listed)
    union
    select up.location from documents d cross join lateral jsonb_array_elements_text(
        case jsonb_typeof(d.metadata->'uploads') when 'array' then d.metadata->'uploads' else '[]' end) up(location)
    where d.workspace_id = %(workspace)s and up.location in (select location from listed)
    union
    select u.payload->>'location' from units u join jobs j on j.id = u.job_id
    where u.workspace_id = %(workspace)s and j.state in ('queued', 'running')
      and u.payload->>'location' in (select location from listed))
select l.location, l.location in (select location from used) as used from listed l order by l.freed_at, l.location;

-- forget_freed: Bytes that are gone, or somebody's again.
delete from freed_blobs where location = any(%(locations)s) and workspace_id = %(workspace)s and tenant_id = %(tenant)s;
