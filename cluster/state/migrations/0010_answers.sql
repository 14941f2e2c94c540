-- Answers as they were given: what they say, what each claim rests on, and how it was found. No passage is stored: a
-- citation is a place on a page and the hash of what stood there, so whoever may no longer read the document reads
-- nothing of it here, and what is deleted leaves no copy.

-- `id` is that of the run where an agent answered. `readers` are the one who asked and the workspace's administrators.
create table answers (
    id uuid primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    readers text[] not null check (readers <> '{}'),
    user_id uuid,
    agent_id uuid,
    run_id uuid,
    question text not null,
    question_hash text not null,
    mode text not null check (mode in ('extractive', 'generated', 'not_found')),
    model text,
    fallback text,
    abstained text,
    generation int,
    corpus_version bigint not null,
    claims jsonb not null,
    conflicts jsonb not null default '[]',
    dropped jsonb not null default '[]',
    search jsonb not null default '{}',
    at timestamptz not null default clock_timestamp()
);
create index on answers (workspace_id, at desc, id);

create table answer_citations (
    answer_id uuid not null references answers on delete cascade,
    n int not null check (n >= 1),
    tenant_id uuid not null,
    workspace_id uuid not null,
    document_id text not null,
    version_id text not null,
    chunk_id text not null,
    page int not null,
    first_char int not null,
    end_char int not null,
    quote_hash text not null,
    primary key (answer_id, n)
);

-- Which job read a page.
create index units_read on units (key) where stage = 'read';

do $$
declare rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    execute format('create policy belongs on answers using (%s and (readers && (select aos_principals())'
        ' or (select aos_principals()) @> array[''*'']))', rule);
    -- Seen with its answer; the inner query is under the answers' own policy.
    execute format('create policy belongs on answer_citations using (%s and exists '
        '(select 1 from answers a where a.id = answer_id))', rule);
end $$;
alter table answers enable row level security;
alter table answers force row level security;
alter table answer_citations enable row level security;
alter table answer_citations force row level security;
grant select, insert, update, delete on answers, answer_citations to aos_app;
