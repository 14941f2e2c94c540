-- basis: What a pass goes on from: the sync that reads meanwhile, and where its listing ended; no row where it is not the newest.
-- What is settled in a transaction that is under way now is seen only later: `since` is long before that.
select s.job_id::text as sync, clock_timestamp() - interval '5 minutes' as since,
       coalesce(case when j.state in ('queued', 'running') then j.payload->>'cursor' end, s.cursor) as cursor
from sources s left join jobs j on j.id = s.job_id and j.workspace_id = s.workspace_id
where s.id = %(source)s and s.workspace_id = %(workspace)s and s.rights_job_id = %(job)s;

-- unread: Items that a sync is still to fetch, may be told to fetch once more, or has fetched since.
select u.key, u.status not in ('pending', 'failed') as taken, u.payload->'item' as item, u.payload->'readers' as readers,
       coalesce((u.payload->>'left')::boolean, false) as left
from units u
where u.job_id = %(sync)s and u.workspace_id = %(workspace)s and u.stage = 'fetch'
  and (u.status in ('pending', 'failed') or u.settled_at >= %(since)s) and u.key > %(after)s
order by u.key limit %(most)s;

-- amend: Items that are still to be fetched are so as they were listed now; the keys of those.
update units u set payload = u.payload || a.payload
from unnest(%(keys)s::text[], %(payloads)s::jsonb[]) as a(key, payload)
where u.job_id = %(sync)s and u.workspace_id = %(workspace)s and u.stage = 'fetch' and u.key = a.key
  and u.status in ('pending', 'failed')
returning u.key;

-- recall: What could not be fetched yet is remembered as it was listed now.
update source_items i set path = %(path)s, rights = %(rights)s
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.item_id = %(item)s and i.document_id is null;

-- taken: Documents of items that were fetched meanwhile.
select i.item_id, i.document_id from source_items i
join documents d on d.id = i.document_id and d.workspace_id = i.workspace_id
where i.source_id = %(source)s and i.workspace_id = %(workspace)s and i.item_id = any(%(items)s) and i.gone_at is null;

-- fetch_now: An item that is being fetched, as it was listed last.
select u.payload from units u
where u.job_id = %(job)s and u.workspace_id = %(workspace)s and u.stage = 'fetch' and u.key = %(key)s and u.status = 'pending';

-- in_use: Whether a document has bytes there, or is about to.
select d.id from documents d where d.id = %(document)s and d.workspace_id = %(workspace)s
and (coalesce(d.metadata->'uploads', '[]') ? %(location)s or exists (
    select from document_versions v
    where v.document_id = d.id and v.workspace_id = d.workspace_id and v.location = %(location)s));

-- confirm: Who may see what is confirmed since the pass began to list, null where its listing was not whole.
update sources set last_error = %(error)s,
    last_success_at = greatest(%(listed_at)s::timestamptz, last_success_at),
    hidden_at = case when %(listed_at)s::timestamptz is null or hidden_at > %(listed_at)s::timestamptz then hidden_at end
where id = %(source)s and workspace_id = %(workspace)s and rights_job_id = %(job)s;
