-- Every word accounted for: a page says what its text does not hold or may have wrong, and a document that has such pages is
-- `partial` or `degraded`, never plain `completed`.

-- [{kind, weight: unread|unsure|note, detail, count}]
alter table pages add column caveats jsonb not null default '[]';

alter table documents drop constraint documents_status_check;
alter table documents add constraint documents_status_check
    check (status in ('pending', 'processing', 'completed', 'degraded', 'partial', 'embedding_pending', 'failed'));

-- What the caveats of its current version come to, so that a list need not look into pages:
-- [{kind, weight, detail of the first, count, pages: the first twenty, page_count}], the gravest first.
alter table documents add column caveats jsonb not null default '[]';

-- Those of the pages a chunk stands on, beside its text as its engine and confidence are (0018):
-- [{kind, weight, detail, count, page: null where it is of the whole document}]
alter table document_chunks add column caveats jsonb not null default '[]';

-- How grave a caveat is, the gravest first.
create function caveat_rank(weight text) returns int language sql immutable parallel safe as $$
    select case weight when 'unread' then 1 when 'unsure' then 2 else 3 end
$$;

-- What a reader of some pages of a version should know, a dozen at most. What is said of a whole document stands at its
-- first page and counts for all of them.
create function caveats_of(v_id text, numbers int[]) returns jsonb language sql stable as $$
    select coalesce(jsonb_agg(t.shown order by t.rank, t.number, t.shown->>'kind'), '[]') from (
        select p.number, caveat_rank(c.caveat->>'weight') as rank,
               (c.caveat - 'whole') || jsonb_build_object(
                   'page', case when not c.caveat ? 'whole' then p.number end) as shown
        from pages p cross join lateral jsonb_array_elements(p.caveats) as c(caveat)
        where p.version_id = v_id and p.number = any(numbers || 1) and p.caveats <> '[]'
          and (p.number = any(numbers) or c.caveat ? 'whole' and c.caveat->>'weight' <> 'note')
        order by 2, 1 limit 12) t
$$;
grant execute on function caveats_of, caveat_rank to aos_app;

-- What a unit that is settled came to, where that is not all of what its subject holds; null: nothing is missing or
-- doubtful. `caveats` says why, as documents.caveats does.
alter table units
    add column outcome text check (outcome in ('degraded', 'partial', 'failed')),
    add column caveats jsonb;
create index units_doubtful on units (job_id, stage, position) where outcome is not null;

alter table job_progress
    add column ended_degraded bigint not null default 0,
    add column ended_partial bigint not null default 0,
    add column ended_failed bigint not null default 0;
