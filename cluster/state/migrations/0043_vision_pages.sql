-- Pages that a multimodal model was asked about while documents were read: what its budget is counted by.
create table vision_pages (
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    job_id uuid not null,
    day date not null,  -- UTC
    pages bigint not null check (pages >= 0),
    pixels bigint not null check (pixels >= 0),  -- of the pictures that were sent
    primary key (workspace_id, job_id, day)
);
create index on vision_pages (workspace_id, day);

create policy belongs on vision_pages using (
    tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
alter table vision_pages enable row level security;
alter table vision_pages force row level security;
grant select, insert, update, delete on vision_pages to aos_app;
