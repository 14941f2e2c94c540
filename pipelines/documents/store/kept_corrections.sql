-- corrections: What people have corrected on some pages of these versions, the oldest first; what was said of other bytes
-- says nothing of these.
select v.id as version, c.id, c.page, c.line, c.text_before, c.text_after, c.box, c.whole
from document_versions v join page_corrections c on c.document_id = v.document_id and c.workspace_id = v.workspace_id
  and c.file_hash = v.file_hash
where v.id = any(%(versions)s::text[]) and v.workspace_id = %(workspace)s and c.page = any(%(numbers)s::int[])
order by c.at, c.id;

-- note_places: On which versions corrections have no place by now, and on which they have one.
update page_corrections c set unplaced_in = array_remove(c.unplaced_in, n.version)
    || case when n.placed then '{}'::text[] else array[n.version] end
from unnest(%(ids)s::uuid[], %(versions)s::text[], %(placed)s::boolean[]) as n(id, version, placed)
where c.id = n.id and c.workspace_id = %(workspace)s and n.placed = (n.version = any(c.unplaced_in));
