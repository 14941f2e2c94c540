-- Extractions to a schema: each value with its place and state, so that what a person should look at can be listed.

-- The latest run of a schema over a version of a document, by the document's labels alone and by a model.
create table extraction_runs (
    id uuid primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    document_id text not null,
    version_id text not null references document_versions on delete cascade,
    schema_hash text not null,
    model text,  -- null where none was asked
    by_model boolean not null generated always as (model is not null) stored,
    user_id uuid,
    at timestamptz not null default clock_timestamp(),
    unique (version_id, schema_hash, by_model)
);
create index on extraction_runs (document_id);
create index on extraction_runs (workspace_id, at desc, id);

create table extraction_fields (
    run_id uuid not null references extraction_runs on delete cascade,
    ordinal int not null check (ordinal >= 1),
    tenant_id uuid not null,
    workspace_id uuid not null,
    path text not null,  -- a JSON pointer into the result
    state text not null check (state in ('found', 'unsure', 'missing', 'invalid')),
    reason text not null default '',
    value jsonb,
    source text check (source in ('facts', 'model')),
    page int,
    first_char int,
    end_char int,
    ocr_confidence real,
    primary key (run_id, ordinal)
);
create index on extraction_fields (run_id) where state in ('unsure', 'invalid');

-- Seen by whoever sees the document; the inner queries are under the policies of what they read.
do $$
declare rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    execute format('create policy belongs on extraction_runs using (%s and exists '
        '(select 1 from documents d where d.id = document_id))', rule);
    execute format('create policy belongs on extraction_fields using (%s and exists '
        '(select 1 from extraction_runs r where r.id = run_id))', rule);
end $$;
alter table extraction_runs enable row level security;
alter table extraction_runs force row level security;
alter table extraction_fields enable row level security;
alter table extraction_fields force row level security;
grant select, insert, update, delete on extraction_runs, extraction_fields to aos_app;
