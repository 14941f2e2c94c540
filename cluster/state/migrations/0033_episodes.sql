-- What a conversation was about, to be found by meaning in later ones; and the same for facts.

-- `made_with` is the embedder's fingerprint: vectors of another one are never compared, but made anew.
create table episodes (
    session_id uuid primary key references sessions on delete cascade,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    upto_seq int not null,
    text text not null check (text <> ''),
    embedding vector,
    made_with text not null default '',
    updated_at timestamptz not null default clock_timestamp()
);
alter table facts add column embedding vector;
alter table facts add column made_with text not null default '';
create index on facts (workspace_id, user_id);

create policy belongs on episodes
    using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
alter table episodes enable row level security;
alter table episodes force row level security;
grant select, insert, update, delete on episodes to aos_app;
