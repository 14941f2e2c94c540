-- waiting: Pages that readers see and that somebody should look at, the least sure first: OCR was not sure of a line, the
-- page says that its text may be wrong, a correction has no place on it any more, or a value that was extracted from it
-- is in doubt (one that stands nowhere: on the first page). A page that was looked at before a value was extracted waits
-- again.
with fields_of as (
    select version_id, number, at, fields from doubtful_field_pages where workspace_id = %(workspace)s
), doubtful as (
    select p.version_id, p.number, 'confidence' as reason from pages p
    where p.workspace_id = %(workspace)s and coalesce(p.weakest_line, p.confidence) < %(below)s
      and p.engine not in ('native', 'native+human') and p.failure is null and (p.weakest_line is not null or p.words <> '[]')
    union all
    select p.version_id, p.number, 'caveat' from documents d
    join pages p on p.version_id = d.current_version and p.workspace_id = d.workspace_id
    where d.workspace_id = %(workspace)s and d.caveats @? '$[*] ? (@.weight == "unsure")'
      and p.caveats @? '$[*] ? (@.weight == "unsure")'
    union all
    select v.version, c.page, 'correction' from page_corrections c cross join unnest(c.unplaced_in) as v(version)
    where c.workspace_id = %(workspace)s
    union all
    select version_id, number, 'field' from fields_of
), pages_of as (
    select version_id, number, array_agg(distinct reason order by reason) as reasons from doubtful
    group by version_id, number
)
select d.id as document_id, d.filename, p.version_id, p.number, p.revision, v.page_count, p.text, p.words, p.engine,
       p.confidence, case when p.words <> '[]' then coalesce(p.weakest_line, p.confidence) end as weakest_line, p.caveats, p.read_at,
       p.reviewed_at, u.email as reviewed_by, q.reasons, coalesce(f.fields, '[]') as fields,
       count(*) over () as total
from pages_of q join documents d on d.current_version = q.version_id and d.workspace_id = %(workspace)s
join pages p on p.version_id = q.version_id and p.number = q.number and p.workspace_id = d.workspace_id
join document_versions v on v.id = p.version_id and v.workspace_id = d.workspace_id
left join fields_of f on f.version_id = q.version_id and f.number = q.number
left join users u on u.id = p.reviewed_by
where d.workspace_id = %(workspace)s and p.failure is null
  and (p.reviewed_at is not null and p.reviewed_at >= coalesce(f.at, p.reviewed_at)) = %(reviewed)s
  and (%(document)s::text is null or d.id = %(document)s)
  and (%(reason)s::text is null or %(reason)s = any(q.reasons))
  and (%(search)s::text is null or d.filename ilike %(search)s)
order by weakest_line nulls last, d.id, p.number offset %(skip)s limit %(limit)s;

-- weigh_lines: Work out how sure OCR was of the weakest line of some pages that were read before this was kept, those first of
-- which it was the least sure.
update pages p set weakest_line = coalesce(weakest_line(p.words, p.text), 1) from (
    select o.version_id, o.number from pages o
    where o.workspace_id = %(workspace)s and o.weakest_line is null and o.engine not in ('native', 'native+human')
      and o.failure is null
    order by o.confidence limit %(limit)s for update skip locked) n
where p.version_id = n.version_id and p.number = n.number and p.workspace_id = %(workspace)s;

-- page: A page that readers see, with what a person needs to correct it.
select d.id as document_id, d.filename, p.version_id, p.number, p.revision, v.page_count, p.text, p.words, p.engine,
       p.confidence, p.weakest_line, p.caveats, p.read_at, p.reviewed_at, u.email as reviewed_by, p.failure, p.attempts, p.ms,
       coalesce(f.fields, '[]') as fields
from documents d join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
join pages p on p.version_id = v.id and p.number = %(number)s and p.workspace_id = d.workspace_id
left join doubtful_field_pages f on f.version_id = v.id and f.number = p.number and f.workspace_id = d.workspace_id
left join users u on u.id = p.reviewed_by
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- mark_reviewed: Somebody has looked at the page as it is now, or wants it looked at again; no row where it is another by now.
-- Who looked first is kept, unless values were extracted from it since.
update pages p set (reviewed_at, reviewed_by) = (
    select case when not %(fine)s then null when looked.at then p.reviewed_at else clock_timestamp() end,
           case when not %(fine)s then null when looked.at then p.reviewed_by else %(user)s::uuid end
    from (select p.reviewed_at is not null and not exists (
        select 1 from doubtful_field_pages f
        where f.version_id = p.version_id and f.number = p.number and f.workspace_id = p.workspace_id
          and f.at > p.reviewed_at)) as looked(at))
from documents d
where d.id = %(document)s and d.workspace_id = %(workspace)s and p.version_id = d.current_version
  and p.number = %(number)s and p.workspace_id = d.workspace_id and p.version_id = %(version)s
  and p.revision = %(revision)s
returning p.reviewed_at;

-- history: The corrections of a page, the newest first, with who made them.
select c.id, c.version_id, c.revision, c.at, c.user_id, u.email as user_email, c.line, c.start_at, c.text_before,
       c.text_after, c.whole, c.box, c.reembedded, c.searchable,
       coalesce(d.current_version = any(c.unplaced_in), false) as unplaced, count(*) over () as total
from page_corrections c join documents d on d.id = c.document_id and d.workspace_id = c.workspace_id
left join users u on u.id = c.user_id
where c.document_id = %(document)s and c.workspace_id = %(workspace)s and c.page = %(number)s
order by c.at desc, c.id offset %(skip)s limit %(limit)s;
