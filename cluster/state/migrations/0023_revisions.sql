-- `corpus_version` counts what changed, for people. What was remembered of searches rests on `revision`, which changes
-- with it and never says the same twice: a moment in microseconds, and at least one more than before. After an older
-- backup is put back, a counter would come to numbers that it had before, for other documents.
create function next_revision(before bigint) returns bigint language sql volatile set search_path = public, pg_temp as $$
    select greatest(before + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
$$;
alter table workspaces add column revision bigint not null default next_revision(0);

create function note_change() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    new.revision := next_revision(old.revision);
    return new;
end $$;
create trigger changes_are_noted before update of corpus_version on workspaces
    for each row execute function note_change();
