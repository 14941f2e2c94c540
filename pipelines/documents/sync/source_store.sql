-- add: A source.
insert into sources (tenant_id, workspace_id, name, kind, settings, credential, readers, group_names, has_rights,
                     every_minutes, max_removed_percent, erase_after_days, stale_after_hours, enabled, watch, tags, agent_id,
                     next_at, created_by)
values (%(tenant)s, %(workspace)s, %(name)s, %(kind)s, %(settings)s, %(credential)s, %(readers)s, %(group_names)s,
        %(has_rights)s, %(every_minutes)s, %(max_removed_percent)s, %(erase_after_days)s, %(stale_after_hours)s,
        %(enabled)s, %(watch)s, %(tags)s, %(agent_id)s,
        case when %(enabled)s and %(every_minutes)s::int is not null then clock_timestamp() end, %(user)s)
returning id::text;

-- list: The sources of a workspace by name, with what is here of each.
select s.id::text, s.name, s.kind, s.settings, s.credential, s.readers, s.group_names, s.has_rights, s.every_minutes,
       s.max_removed_percent, s.erase_after_days, s.stale_after_hours, s.enabled, s.job_id::text, j.state as job_state,
       s.waiting, s.last_plan, s.last_error, s.last_success_at, s.next_at, s.hidden_at, s.created_at,
       s.watch, s.tags, s.agent_id::text, case when s.watch then jsonb_build_object(
           'mode', case when not s.enabled then 'off' when w.lease_until > clock_timestamp() then coalesce(w.mode, 'opening')
                        else 'nobody' end,
           'why', w.why, 'folders', coalesce(w.folders, 0), 'since', w.since, 'changed_at', w.changed_at) end as watching,
       i.items, i.gone, i.failed
from sources s
left join source_watches w on w.source_id = s.id and w.workspace_id = s.workspace_id
left join jobs j on j.id = s.job_id and j.workspace_id = s.workspace_id
left join lateral (
    select count(*) filter (where gone_at is null and document_id is not null) as items,
           count(*) filter (where gone_at is not null) as gone, count(error) as failed
    from source_items i where i.source_id = s.id and i.workspace_id = s.workspace_id) i on true
where s.workspace_id = %(workspace)s and (%(source)s::text is null or s.id::text = %(source)s or s.name = %(source)s)
  and (%(kind)s::text is null or s.kind = %(kind)s)
order by s.name offset %(skip)s limit %(limit)s;

-- count: How many there are.
select count(*) as total from sources s
where s.workspace_id = %(workspace)s and (%(kind)s::text is null or s.kind = %(kind)s);

-- folders: Sources of a kind with paths, and what they were added with.
select s.id::text, s.settings->>'path' as path, s.name, s.readers, s.tags, s.agent_id::text, s.every_minutes
from sources s where s.workspace_id = %(workspace)s and s.kind = %(kind)s order by s.created_at, s.id;

-- lock_paths: Paths of a workspace are registered one after another.
select pg_advisory_xact_lock(hashtextextended('aos.registered_paths.' || %(workspace)s, 0));

-- lock: A source, until the transaction ends, with the job that is at work for it: its newest sync, or a pass beside that or
-- after it. `reads`: that sync has listed, and reads what it has found; `tries`: it is a dry run.
select s.id::text, s.name, case when w.syncs or not w.passes then s.job_id else s.rights_job_id end::text as job_id,
       s.rights_job_id::text, s.waiting, s.enabled, s.has_rights, w.syncs or w.passes as busy, w.syncs, w.passes,
       coalesce(j.phase = 'run' and j.lane <> 'sync' and not j.payload ? 'remove', false) as reads,
       coalesce((j.payload->>'dry_run')::boolean, false) as tries, clock_timestamp() as now
from sources s left join jobs j on j.id = s.job_id and j.workspace_id = s.workspace_id
left join jobs r on r.id = s.rights_job_id and r.workspace_id = s.workspace_id
cross join lateral (select coalesce(j.state in ('queued', 'running'), false) as syncs,
                           coalesce(r.state in ('queued', 'running'), false) as passes) w
where s.workspace_id = %(workspace)s and (s.id::text = %(source)s or s.name = %(source)s) for update of s;

-- set_job: The sync that counts from now on. One that is whole reads what passes have only seen; a dry run reads nothing.
update sources set job_id = %(job)s, rights_job_id = case when %(whole)s then null else rights_job_id end
where id = %(source)s and workspace_id = %(workspace)s;

-- set_pass: The pass that counts from now on.
update sources set rights_job_id = %(job)s where id = %(source)s and workspace_id = %(workspace)s;

-- ask: A listing that is under way has answered somebody; no row where its job removes the source.
update sources s set asked_at = clock_timestamp()
where s.id = %(source)s and s.workspace_id = %(workspace)s and exists (
    select from jobs j where j.id = %(job)s and j.workspace_id = s.workspace_id and not j.payload ? 'remove');

-- begin_listing: The listing that begins now sees all that was asked for until now.
update sources s set asked_at = null
where s.id = %(source)s and s.workspace_id = %(workspace)s and s.asked_at is not null
  and %(job)s in (s.job_id, s.rights_job_id);

-- disable: No sync begins by itself any more.
update sources set enabled = false, next_at = null where id = %(source)s and workspace_id = %(workspace)s;

-- enable: Syncs begin by themselves again, where it has a period.
update sources set enabled = true, next_at = case when every_minutes is not null then clock_timestamp() end
where id = %(source)s and workspace_id = %(workspace)s;

-- change: What people have changed of it. Its cursor knows nothing of what other settings or another account would list.
update sources set name = %(name)s, settings = %(settings)s, credential = %(credential)s, readers = %(readers)s,
    group_names = %(group_names)s, every_minutes = %(every_minutes)s, max_removed_percent = %(max_removed_percent)s,
    erase_after_days = %(erase_after_days)s, stale_after_hours = %(stale_after_hours)s, has_rights = %(has_rights)s,
    cursor = case when settings = %(settings)s and credential is not distinct from %(credential)s then cursor end,
    next_at = case when enabled and %(every_minutes)s::int is not null then clock_timestamp() end
where id = %(source)s and workspace_id = %(workspace)s;

-- editable: What people may change of it, as it is.
select s.name, s.settings, s.credential, s.readers, s.group_names, s.every_minutes, s.max_removed_percent,
       s.erase_after_days, s.stale_after_hours, s.has_rights
from sources s where s.id = %(source)s and s.workspace_id = %(workspace)s;

-- decline: Nothing waits any more; what is still missing at the next sync waits again.
with kept as (update source_items i set awaiting_since = null
    where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.awaiting_since is not null)
update sources set waiting = null where id = %(source)s and workspace_id = %(workspace)s;

-- rights: The rights of its items that are here, with how many have them.
select i.rights, count(*) as items from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.gone_at is null group by i.rights;

-- remove: The source, with what is remembered of its items; documents stay.
delete from sources where id = %(source)s and workspace_id = %(workspace)s;

-- count_left: What is left of a source that is removed.
select count(*) as total from source_items i where i.source_id = %(source)s and i.workspace_id = %(workspace)s;

-- items: What is remembered of its items, by path; `only` is failed, gone, waiting or all.
select i.item_id, i.path, i.version, i.document_id, i.error, i.gone_at, i.awaiting_since, i.seen_at, d.status, i.rights,
       case when d.own_readers then d.readers end as by_hand
from source_items i left join documents d on d.id = i.document_id and d.workspace_id = i.workspace_id
where i.source_id = %(source)s and i.workspace_id = %(workspace)s
  and case %(only)s::text when 'failed' then i.error is not null when 'gone' then i.gone_at is not null
                          when 'waiting' then i.awaiting_since is not null else true end
  and (%(q)s::text is null or position(lower(%(q)s) in lower(i.path)) > 0)
order by i.path, i.item_id offset %(skip)s limit %(limit)s;

-- count_items: How many the same filter finds.
select count(*) as total from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s
  and case %(only)s::text when 'failed' then i.error is not null when 'gone' then i.gone_at is not null
                          when 'waiting' then i.awaiting_since is not null else true end
  and (%(q)s::text is null or position(lower(%(q)s) in lower(i.path)) > 0);

-- definition: What a sync needs of a source.
select id::text, name, kind, settings, credential, readers, group_names, has_rights, max_removed_percent, erase_after_days,
       cursor, job_id::text, tags, agent_id::text, waiting->>'reason' as waits
from sources where id = %(source)s and workspace_id = %(workspace)s;

-- credential: One of the workspace's by its name; nothing of what is sealed.
select c.id::text, c.extra, c.bound, open_credential(c.id) as sealed from credentials c
where c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s and c.name = %(name)s and c.context_id is null;

-- known: What is known of a source's items, and of the documents that they are.
select i.item_id, i.path, i.version, i.fingerprint, i.document_id, i.rights, i.kept_readers, i.awaiting_since,
       i.gone_at is not null as gone, i.error is not null as missed, d.id is not null as there, d.readers, d.own_readers,
       i.error is not null or coalesce(d.status in ('pending', 'processing'), false)
           or coalesce((d.failure->>'retryable')::boolean, false) as failed
from source_items i left join documents d on d.id = i.document_id and d.workspace_id = i.workspace_id
where i.source_id = %(source)s and i.workspace_id = %(workspace)s order by i.item_id;

-- people: E-mail addresses of the accounts of the tenant that may sign in.
select u.email from users u where u.tenant_id = %(tenant)s and not u.disabled;

-- groups: Names of the tenant's groups.
select g.name from groups g where g.tenant_id = %(tenant)s and g.deleted_at is null;

-- drop_units: A plan that was not written to its end is made again from the beginning.
with dropped as (
    delete from units u where u.job_id = %(job)s and u.workspace_id = %(workspace)s
    and exists (select from jobs j where j.id = u.job_id and j.workspace_id = u.workspace_id and j.phase <> 'run'))
delete from job_progress p where p.job_id = %(job)s and p.workspace_id = %(workspace)s
and exists (select from jobs j where j.id = p.job_id and j.workspace_id = p.workspace_id and j.phase <> 'run');

-- await: Removals that wait for a person; those that wait already have been waiting since then.
update source_items i set awaiting_since = case when i.item_id = any(%(items)s) then coalesce(i.awaiting_since, clock_timestamp()) end
where i.source_id = %(source)s and i.workspace_id = %(workspace)s
  and (i.item_id = any(%(items)s) or i.awaiting_since is not null);

-- set_waiting: What a person is to be shown of them.
update sources set waiting = %(waiting)s, last_plan = coalesce(%(plan)s::jsonb, last_plan)
where id = %(source)s and workspace_id = %(workspace)s;

-- set_last_plan: What a dry run came to.
update sources set last_plan = %(plan)s where id = %(source)s and workspace_id = %(workspace)s;

-- set_error: Why the newest sync could not be done.
update sources set last_error = %(error)s where id = %(source)s and workspace_id = %(workspace)s;

-- due_to_erase: Documents that left so long ago that they are to go for good; none that is back and was not fetched yet.
select i.item_id, i.document_id from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.error is null
  and i.gone_at <= clock_timestamp() - make_interval(days => %(days)s)
order by i.gone_at, i.item_id limit %(most)s;

-- left_item: Who read the document by hand before its item left, if any did; no row where it is here.
select i.kept_readers from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.item_id = %(item)s and i.gone_at is not null for update;

-- is_outdated: A row where the rights that a sync has listed are older than the moment from which nobody confirms them.
select s.id from sources s join jobs j on j.id = %(job)s and j.workspace_id = s.workspace_id
where s.id = %(source)s and s.workspace_id = %(workspace)s and s.has_rights
  and s.hidden_at > coalesce((j.payload->>'listed_at')::timestamptz, j.created_at);

-- is_gone: A row where the item is not back; it is locked until the transaction ends.
select i.item_id from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.item_id = %(item)s
  and i.gone_at is not null and i.error is null for update;

-- every_item: All of a source that is removed.
select i.item_id, i.document_id from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s order by i.item_id;

-- is_current: A row where no newer sync or pass of the source was started; it is locked until the transaction ends.
select s.id from sources s where s.id = %(source)s and s.workspace_id = %(workspace)s
and %(job)s in (s.job_id, s.rights_job_id) for share;

-- hold_current: The same for who changes the source's row then: two who share it and wait for each other would both be held up.
select s.id from sources s where s.id = %(source)s and s.workspace_id = %(workspace)s
and %(job)s in (s.job_id, s.rights_job_id) for no key update;

-- hold: A source's row, before those of its items: others take them in that order.
select s.id from sources s where s.id = %(source)s and s.workspace_id = %(workspace)s for no key update;

-- hold_documents: Documents of the source that are there, locked, so that nobody deletes them meanwhile.
select d.id, d.origin from documents d
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s and starts_with(d.origin, %(prefix)s)
order by d.id for update;

-- announce: A document that is fetched for the first time, before it is read.
insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, readers, tags)
values (%(document)s, %(tenant)s, %(workspace)s, %(origin)s, %(filename)s, %(file_type)s, 'source', %(readers)s, %(tags)s)
on conflict (id) do nothing;

-- not_by_hand: Its readers are the source's, and follow that.
update documents set own_readers = false where id = %(document)s and workspace_id = %(workspace)s;

-- remember_bytes: Where fetched bytes are that have not become a version, so that whoever deletes the document finds them.
update documents d set metadata = jsonb_set(d.metadata, '{uploads}', to_jsonb(array(
    select u.location from jsonb_array_elements_text(coalesce(d.metadata->'uploads', '[]')) as u(location)
    where u.location <> %(location)s and not exists (select 1 from document_versions v
                      where v.document_id = d.id and v.workspace_id = d.workspace_id and v.location = u.location)
    union all select %(location)s)))
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- take: The item is here as it was listed.
insert into source_items (source_id, tenant_id, workspace_id, item_id, path, version, fingerprint, document_id, rights)
values (%(source)s, %(tenant)s, %(workspace)s, %(item)s, %(path)s, %(version)s, %(fingerprint)s, %(document)s, %(rights)s)
on conflict (source_id, item_id) do update set path = excluded.path, version = excluded.version,
    fingerprint = excluded.fingerprint, document_id = excluded.document_id, rights = excluded.rights, error = null,
    gone_at = null, awaiting_since = null, kept_readers = null, seen_at = clock_timestamp();

-- miss: The item could not be fetched. Of a document that is there the version stays that whose bytes it has.
insert into source_items as i (source_id, tenant_id, workspace_id, item_id, path, version, rights, error)
values (%(source)s, %(tenant)s, %(workspace)s, %(item)s, %(path)s, %(version)s, %(rights)s, %(error)s)
on conflict (source_id, item_id) do update set error = excluded.error, path = excluded.path, rights = excluded.rights,
    version = case when exists (select from documents d where d.id = i.document_id and d.workspace_id = i.workspace_id)
              then i.version else excluded.version end;

-- move_item: The item has another id, path or rights now, or is back.
update source_items i set item_id = %(item)s, path = %(path)s, rights = %(rights)s, fingerprint = %(fingerprint)s,
    gone_at = null, awaiting_since = null, kept_readers = null, seen_at = clock_timestamp()
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.item_id = %(before)s;

-- rename: The document is called as its item is, and lies where that lies.
update documents set filename = %(filename)s
where id = %(document)s and workspace_id = %(workspace)s and filename <> %(filename)s;

-- relocate: Versions that were read where the file lay are looked for where it lies now.
update document_versions set location = %(location)s
where document_id = %(document)s and workspace_id = %(workspace)s and location = %(before)s;

-- set_readers: Who may see documents from now on; members, chunks and vectors follow by triggers.
update documents d set readers = n.readers, own_readers = %(by_hand)s
from (select %(document)s::text as id, %(readers)s::text[] as readers) n
where d.id = n.id and d.workspace_id = %(workspace)s and d.readers is distinct from n.readers;

-- leave: Items that left, some of them again before they could be fetched; what never became a document is forgotten.
with forgotten as (
    delete from source_items i where i.source_id = %(source)s and i.workspace_id = %(workspace)s
    and i.item_id = any(%(items)s) and not exists (
        select from documents d where d.id = i.document_id and d.workspace_id = i.workspace_id))
update source_items i set gone_at = coalesce(i.gone_at, clock_timestamp()), awaiting_since = null, error = null,
    kept_readers = case when i.gone_at is not null then i.kept_readers when d.own_readers then d.readers end
from documents d
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.item_id = any(%(items)s)
  and d.id = i.document_id and d.workspace_id = i.workspace_id;

-- hide: Documents of the source that nobody sees from now on; until they come back, or are erased.
update documents d set readers = array[%(reader)s::text], own_readers = false
where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s and starts_with(d.origin, %(prefix)s)
  and d.readers is distinct from array[%(reader)s::text];

-- forget: What was remembered of an item.
delete from source_items where source_id = %(source)s and workspace_id = %(workspace)s and item_id = any(%(items)s);

-- next_items: The next items of a source that are here, by id, with their documents; whoever goes on does so after the last.
select i.item_id, i.document_id from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.gone_at is null and i.item_id > %(after)s
order by i.item_id limit %(most)s;

-- visible: Some documents of a source that somebody may see.
select i.document_id from source_items i join documents d on d.id = i.document_id and d.workspace_id = i.workspace_id
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.gone_at is null
  and d.readers is distinct from array[%(reader)s::text]
limit %(most)s;

-- set_hidden: Nobody has confirmed its rights for too long.
update sources set hidden_at = clock_timestamp() where id = %(source)s and workspace_id = %(workspace)s;

-- is_stale: Whether a source with rights still is, now that it is locked. What was shown after it was hidden ages anew.
select s.id from sources s where s.id = %(source)s and s.workspace_id = %(workspace)s and s.has_rights
  and greatest(coalesce(s.last_success_at, s.created_at), s.hidden_at) + make_interval(hours => s.stale_after_hours) < %(now)s
for update;

-- close: A sync was done to its end; `listed_at` is when its listing began, null where that was not whole. Documents that
-- were hidden after it are so still, and are shown by the next, which is due at once.
update sources set cursor = %(cursor)s, last_error = %(error)s,
    last_success_at = greatest(%(listed_at)s::timestamptz, last_success_at),
    hidden_at = case when %(listed_at)s::timestamptz is null or hidden_at > %(listed_at)s::timestamptz then hidden_at end,
    next_at = case when hidden_at > %(listed_at)s::timestamptz and enabled and every_minutes is not null
              then clock_timestamp() else next_at end
where id = %(source)s and workspace_id = %(workspace)s;

-- due: Sources whose sync is due, across tenants.
select id::text, tenant_id::text, workspace_id::text from due_sources(%(now)s, %(most)s);

-- take_due: A source, locked, if its sync is due still.
select s.id from sources s where s.id = %(source)s and s.workspace_id = %(workspace)s and is_source_due(s, %(now)s)
for update of s;

-- set_next: When its next sync is due: after its period, or sooner where `within` says so.
update sources set next_at = %(now)s + least(make_interval(mins => every_minutes), make_interval(secs => %(within)s))
where id = %(source)s and workspace_id = %(workspace)s and enabled and every_minutes is not null;

-- gone_items: Those of a source that left it.
select i.item_id, i.document_id from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.gone_at is not null order by i.item_id;

-- count_gone: How many that are.
select count(*) as total from source_items i
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.gone_at is not null;

-- stale: Sources whose rights nobody has confirmed for too long, across tenants.
select id::text, tenant_id::text, workspace_id::text from stale_sources(%(now)s, %(most)s);
