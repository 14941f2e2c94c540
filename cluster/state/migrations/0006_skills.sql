-- Skills that people of a workspace wrote, and which skills each agent has. What ships is not stored.

-- A version is never changed: new content is the next one. `manifest` is the front matter, `body` the text after it,
-- `code` the Python of a skill written on the spot, `sha256` of all three.
create table skills (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    name text not null check (name ~ '^[A-Za-z0-9_-]{1,64}$'),
    version int not null check (version >= 1),
    manifest jsonb not null,
    body text not null default '',
    code text not null default '',
    sha256 text not null,
    created_by uuid,
    created_at timestamptz not null default now(),
    unique (workspace_id, name, version)
);

-- No row, no skill. Without a version an agent has the newest, each turn the one that is newest when it begins.
create table agent_skills (
    agent_id uuid not null references agents on delete cascade,
    skill text not null check (skill ~ '^[A-Za-z0-9_-]{1,64}$'),
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    version int check (version >= 1),
    attached_by uuid,
    attached_at timestamptz not null default now(),
    primary key (agent_id, skill)
);

do $$
declare
    name text;
    rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
begin
    foreach name in array array['skills', 'agent_skills']
    loop
        execute format('create policy belongs on %I using (%s)', name, rule);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;
