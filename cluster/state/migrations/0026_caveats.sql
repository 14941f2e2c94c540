-- Every word accounted for: a page says what its text does not hold or may have wrong, and a document that has such pages is
-- `partial` or `degraded`, never plain `completed`.

-- [{kind, weight: unread|unsure|note, detail, count}]
alter table pages add column caveats jsonb not null default '[]';

alter table documents drop constraint documents_status_check;
alter table documents add constraint documents_status_check
    check (status in ('pending', 'processing', 'completed', 'degraded', 'partial', 'embedding_pending', 'failed'));
