-- Tables and forms of pages as rows of cells, beside the text they were found in: what is summed, counted and compared.
--
-- Locks: document_versions against everybody for the moment in which a column without a default is added.

create table page_tables (
    version_id text not null references document_versions on delete cascade,
    ordinal int not null check (ordinal >= 1),
    page int not null check (page >= 1),
    document_id text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    headings text[] not null,  -- columns of a grid, labels of a form, without case
    row_count int not null,
    content jsonb not null,  -- kind, columns and rows of cells with their place in the page's text
    primary key (version_id, ordinal)
);
create index on page_tables using gin (headings);
create index on page_tables (document_id);

-- A table is seen by whoever sees its document; the inner query is under documents' own policy.
create policy belongs on page_tables using (
    tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())
    and exists (select 1 from documents d where d.id = document_id));
alter table page_tables enable row level security;
alter table page_tables force row level security;
grant select, insert, update, delete on page_tables to aos_app;

-- `reads` of the text that a version's tables were found in; null where nobody looked yet.
alter table document_versions add column tables_of_reads bigint;

-- How an answer was calculated: the query, what it gave and how many rows it is from.
alter table answers add column calculation jsonb;
