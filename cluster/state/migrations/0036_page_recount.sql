-- A version whose page count is corrected moves its tenant's total, which only new and deleted versions did before.
--
-- Locks: the trigger takes document_versions against writers (share row exclusive) until this migration has ended, and
-- with it no total can move while they are counted once, which reads that whole table; readers go on throughout. Of
-- tenant_pages only rows whose total is wrong are locked.

-- By statement, as the other two; a statement that leaves all counts as they were takes no tenant's row.
create function count_changed_pages() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update tenant_pages mine set pages = greatest(mine.pages + changed.pages, 0)
    from (select tenant_id, sum(pages) as pages
          from (select tenant_id, page_count as pages from fresh union all select tenant_id, -page_count from gone) both_counts
          group by tenant_id having sum(pages) <> 0) changed
    where mine.tenant_id = changed.tenant_id;
    return null;
end $$;
create trigger changed_pages_are_counted after update on document_versions
    referencing old table as gone new table as fresh for each statement execute function count_changed_pages();

update tenant_pages mine set pages = counted.pages
from (select p.tenant_id, coalesce(sum(v.page_count), 0) as pages
      from tenant_pages p left join document_versions v on v.tenant_id = p.tenant_id group by p.tenant_id) counted
where mine.tenant_id = counted.tenant_id and mine.pages <> counted.pages;
