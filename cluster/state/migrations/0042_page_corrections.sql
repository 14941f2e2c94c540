-- People correct what was read: how sure OCR was of a page's weakest line, who has looked at the page, and every correction.
--
-- Locks: pages against everybody for as long as two indexes of it are built: it is read once for each, without its words, and
-- not rewritten. Pages from before have no `weakest_line` until the queue is looked at.

-- How sure OCR was of a page's weakest line: the least mean of a line's words, 0 to 1; null without words. A word is
-- [start, text, four edges, confidence].
create function weakest_line(words jsonb, content text) returns real language sql immutable parallel safe as $$
    with begins as (
        select array_agg(line.first order by line.first) as firsts from (
            select (sum(length(l.one) + 1) over (order by l.n) - length(l.one) - 1)::int as first
            from unnest(string_to_array(content, E'\n')) with ordinality l(one, n)) line
    )
    select min(line.sure)::real from (
        select avg((w->>6)::real) as sure from begins cross join jsonb_array_elements(words) w
        group by width_bucket((w->>0)::int, begins.firsts)) line
$$;
grant execute on function weakest_line to aos_app;

-- `revision` counts how often the text of this page of this version has changed: whoever corrects it names the one they saw.
alter table pages
    add column revision int not null default 0,
    add column reviewed_at timestamptz,
    add column reviewed_by uuid,
    -- 1 where OCR found no words. Null where none was asked or it failed, and where it is not known yet: the mean of the page,
    -- which is never less, then stands for it.
    add column weakest_line real;
create index pages_to_review on pages (workspace_id, coalesce(weakest_line, confidence))
    where engine not in ('native', 'native+human') and failure is null;
create index pages_to_weigh on pages (workspace_id, confidence)
    where weakest_line is null and engine not in ('native', 'native+human') and failure is null;

-- Whoever writes a page need not know of this: a worker from before an update does not count the page's changes.
create function note_page_text() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and new.text is distinct from old.text and new.revision = old.revision then
        new.revision := old.revision + 1;
        new.reviewed_at := null;
        new.reviewed_by := null;
    end if;
    new.weakest_line := case when new.engine not in ('native', 'native+human') and new.failure is null
                             then coalesce(weakest_line(new.words, new.text), 1) end;
    return new;
end $$;
create trigger pages_tell_their_text before insert or update of text, words, engine, failure on pages
    for each row execute function note_page_text();

-- What a line said and what it says, since somebody corrected it; `revision` is the page's own that this made, `version_id`
-- and `file_hash` are of the document as it was then. A correction outlives them: it is put on every later reading of
-- the page. `box` is the line's place on the picture, `start_at` its place in the text; `whole` tells that all of the line
-- was looked at. `unplaced_in` are versions on whose page its line was not found again.
create table page_corrections (
    id uuid primary key default gen_random_uuid(),
    document_id text not null references documents on delete cascade,
    version_id text not null,
    file_hash text not null,
    page int not null check (page >= 1),
    revision int not null check (revision >= 1),
    tenant_id uuid not null,
    workspace_id uuid not null,
    user_id uuid,
    at timestamptz not null default clock_timestamp(),
    line int not null check (line >= 0),
    start_at int not null check (start_at >= 0),
    text_before text not null,
    text_after text not null check (text_after <> ''),
    whole boolean not null,
    box jsonb,
    reembedded int not null check (reembedded >= 0),
    searchable text not null check (searchable in ('vectors', 'words', 'pending')),
    unplaced_in text[] not null default '{}',
    unique (version_id, page, revision)
);
create index page_corrections_page on page_corrections (document_id, page, at);

-- A correction is seen by whoever sees its document; the inner query is under documents' own policy.
create policy belongs on page_corrections using (
    tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())
    and exists (select 1 from documents d where d.id = document_id));
alter table page_corrections enable row level security;
alter table page_corrections force row level security;
grant select, insert, update, delete on page_corrections to aos_app;
