-- Questions whose answers are known, how well the product did on them, and what each next index was held to.

-- `gate`: the next index has to find what this set expects, at least `least_recall` of it where that is given.
create table golden_sets (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    name text not null check (name <> ''),
    description text not null default '',
    gate boolean not null default false,
    least_recall real check (least_recall between 0 and 1),
    created_by uuid,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    unique (workspace_id, name)
);

-- `documents` are ids or filenames, `answers` texts any of which is right; a question that the documents do not answer
-- expects an abstention. `key` is its author's name for it, by which two runs are compared.
create table golden_questions (
    id uuid primary key default gen_random_uuid(),
    set_id uuid not null references golden_sets on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    position bigint generated always as identity,
    key text not null check (key <> ''),
    question text not null check (question <> ''),
    documents text[] not null default '{}',
    passages text[] not null default '{}',
    answers text[] not null default '{}',
    answerable boolean not null default true,
    created_by uuid,
    created_at timestamptz not null default clock_timestamp(),
    unique (set_id, key)
);
create index on golden_questions (set_id, position);

-- `lease_until` is moved on by whoever works on it: a run whose lease has lapsed was interrupted and can be resumed.
create table golden_runs (
    id uuid primary key default gen_random_uuid(),
    set_id uuid not null references golden_sets on delete cascade,
    tenant_id uuid not null,
    workspace_id uuid not null,
    state text not null default 'running' check (state in ('running', 'completed', 'failed', 'cancelled')),
    options jsonb not null,
    settings jsonb not null,
    fingerprint text not null,
    generation_id int,
    total int not null,
    done int not null default 0,
    figures jsonb not null default '{}',
    failures jsonb not null default '[]',
    fence bigint not null default 1,
    lease_until timestamptz,
    created_by uuid,
    created_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz
);
create index on golden_runs (set_id, created_at desc);

-- One row a question. Documents by id: their names are for those who may see them.
create table golden_results (
    run_id uuid not null references golden_runs on delete cascade,
    key text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    position bigint not null,
    question text not null,
    measured jsonb not null,
    retrieved text[] not null default '{}',
    mode text,
    answer text,
    failures text[] not null default '{}',
    at timestamptz not null default clock_timestamp(),
    primary key (run_id, key)
);

-- What became of a generation that a workspace built: `ready` may be switched to, `refused` only by force, `dropped` is
-- gone. Which one is live, and which was before, stands in workspaces.
create table generation_builds (
    workspace_id uuid not null references workspaces on delete cascade,
    generation_id int not null references generations on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    job_id uuid,
    state text not null default 'building' check (state in ('building', 'ready', 'refused', 'dropped')),
    report jsonb,
    forced_by uuid,
    created_at timestamptz not null default clock_timestamp(),
    checked_at timestamptz,
    switched_at timestamptz,
    primary key (workspace_id, generation_id)
);

do $$
declare
    name text;
    rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    foreach name in array array['golden_sets', 'golden_questions', 'golden_runs', 'golden_results', 'generation_builds']
    loop
        execute format('create policy belongs on %I using (%s)', name, rule);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

-- The id that documents' own code gives a chunk: 128 bits of SHA-256 over parts that stand behind their lengths.
create function chunk_digest(version text, chunker text, ordinal int, body text) returns text
language sql immutable as $$
    select left(encode(sha256(string_agg(int8send(octet_length(part)::bigint) || part, ''::bytea order by place)), 'hex'), 32)
    from (values (1, 'chunk'::bytea), (2, convert_to(version, 'UTF8')), (3, convert_to(chunker, 'UTF8')),
                 (4, convert_to(ordinal::text, 'UTF8')), (5, convert_to(body, 'UTF8'))) parts(place, part)
$$;
