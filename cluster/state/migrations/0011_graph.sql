-- The knowledge graph of a workspace. An entity or a relation is a name; all that is known of it stands in its evidence:
-- rows of one document version, seen by whoever sees the document. So nothing is known from a document that one may not
-- read, and nothing stays of a document that is gone.

create table entities (
    id text primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    type text not null check (type in ('technology', 'concept', 'organization', 'person', 'product', 'location')),
    canonical_name text not null check (canonical_name <> ''),
    words text[] not null generated always as (string_to_array(canonical_name, ' ')) stored,
    created_at timestamptz not null default now(),
    unique (workspace_id, type, canonical_name)
);
create index entities_begin on entities (workspace_id, canonical_name text_pattern_ops);
create index entities_words on entities using gin (words);

-- One row a page that names it: the first place there, in characters [start, end) of the page's text, and the sentence
-- around it. Evidence is cut from the page when it is shown, so it is always what the page says. `type` is the entity's:
-- whoever counts mentions need not look at entities that are not shown.
create table entity_mentions (
    entity_id text not null references entities on delete cascade,
    version_id text not null references document_versions on delete cascade,
    page int not null check (page >= 1),
    document_id text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    type text not null,
    name text not null check (name <> ''),
    alias text,
    start_at int not null check (start_at >= 0),
    end_at int not null check (end_at > start_at),
    quote_start int not null check (quote_start >= 0),
    quote_end int not null check (quote_end - quote_start between 1 and 500),
    occurrences int not null check (occurrences >= 1),
    confidence real not null check (confidence between 0 and 1),
    found_by text not null check (found_by in ('rule', 'model')),
    primary key (entity_id, version_id, page)
);
create index entity_mentions_version on entity_mentions (version_id);
create index entity_mentions_alias on entity_mentions (workspace_id, lower(alias)) where alias is not null;

create table relations (
    id text primary key,
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid not null references workspaces on delete cascade,
    source_id text not null references entities on delete cascade,
    target_id text not null references entities on delete cascade,
    type text not null check (type in (
        'is_part_of', 'uses', 'created_by', 'improves', 'related_to', 'alternative_to', 'depends_on')),
    check (source_id <> target_id),
    unique (source_id, target_id, type)
);
create index relations_target on relations (target_id);

-- The sentence that says it, as it stood on the page when it was read.
create table relation_evidence (
    relation_id text not null references relations on delete cascade,
    version_id text not null references document_versions on delete cascade,
    page int not null check (page >= 1),
    start_at int not null check (start_at >= 0),
    end_at int not null check (end_at > start_at),
    document_id text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    evidence text not null check (char_length(evidence) between 1 and 500),
    strength real not null check (strength between 0 and 1),
    found_by text not null check (found_by in ('rule', 'model')),
    primary key (relation_id, version_id, page, start_at)
);
create index relation_evidence_version on relation_evidence (version_id);

-- What was made of a version's text: `reads` is the version's own counter when it was taken, so evidence of a text that
-- was read since is not shown. `note` says who looked, and what was left out.
create table graph_versions (
    version_id text primary key references document_versions on delete cascade,
    document_id text not null,
    tenant_id uuid not null,
    workspace_id uuid not null,
    reads bigint not null,
    fingerprint text not null,
    entities int not null,
    relations int not null,
    note text not null,
    at timestamptz not null default clock_timestamp()
);

-- What has lost its last evidence goes, also where whoever deletes may not see all of it: hence the definer's rights,
-- over the rows of the statement and nothing else. Whoever changes the graph holds its workspace's row, so no evidence
-- arrives in between.
create function forget_entities() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    delete from entities e using (select distinct g.entity_id from gone g) g
    where e.id = g.entity_id and not exists (select 1 from entity_mentions m where m.entity_id = e.id);
    return null;
end $$;
create trigger entities_go after delete on entity_mentions referencing old table as gone
    for each statement execute function forget_entities();

create function forget_relations() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    delete from relations r using (select distinct g.relation_id from gone g) g
    where r.id = g.relation_id and not exists (select 1 from relation_evidence e where e.relation_id = r.id);
    return null;
end $$;
create trigger relations_go after delete on relation_evidence referencing old table as gone
    for each statement execute function forget_relations();

-- A page is seen by whoever sees its document; so is evidence. An entity or relation is seen by whoever sees some of its
-- evidence, and by the worker, who writes it before its evidence is there.
do $$
declare
    name text;
    rule text := 'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace())';
    worker text := '(select aos_principals()) @> array[''*'']';
begin
    foreach name in array array['entity_mentions', 'relation_evidence', 'graph_versions'] loop
        execute format('create policy belongs on %I using (%s and exists '
            '(select 1 from documents d where d.id = document_id))', name, rule);
    end loop;
    execute format('create policy belongs on entities using (%s and (%s or exists '
        '(select 1 from entity_mentions m where m.entity_id = entities.id)))', rule, worker);
    execute format('create policy belongs on relations using (%s and (%s or exists '
        '(select 1 from relation_evidence e where e.relation_id = relations.id)))', rule, worker);
    foreach name in array array['entities', 'entity_mentions', 'relations', 'relation_evidence', 'graph_versions'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('grant select, insert, update, delete on %I to aos_app', name);
    end loop;
end $$;

-- Documents whose graph may be shown: their current version, read as its graph was made, and with an agent only what is
-- linked to it. Plain SQL without settings of its own, so row-level security holds for the caller as in any query.
create function graph_documents(g_tenant uuid, g_workspace uuid, g_agent uuid)
returns table (id text, version_id text, filename text, readers text[])
language sql stable as $$
    select d.id, d.current_version, d.filename, d.readers
    from documents d
    join document_versions v on v.id = d.current_version and v.workspace_id = d.workspace_id
    join graph_versions g on g.version_id = v.id and g.reads = v.reads and g.workspace_id = d.workspace_id
    where d.tenant_id = g_tenant and d.workspace_id = g_workspace
      and (g_agent is null
           or exists (select from document_agent_links l
                      where l.agent_id = g_agent and l.document_id = d.id and l.workspace_id = g_workspace)
           or exists (select from agents a
                      where a.id = g_agent and a.workspace_id = g_workspace and a.whole_workspace))
$$;

-- The entities that words name, best first. `&&` and prefixes are not leakproof, so under row-level security a caller's
-- own query could not use their indexes: as with rank_full_text, this function runs with its owner's rights and holds
-- the same wall itself, from the same settings that the policies read. `n_names` are whole names, `n_words` single words,
-- of which an entity's name has to hold the share `n_least`, `n_prefix` a name's beginning, all canonical.
create function entities_named(
    n_names text[], n_words text[], n_prefix text, n_type text, n_agent uuid, n_least real, depth int)
returns table (id text, score real)
language sql stable security definer set search_path = public, pg_temp as $$
    with named as (
        select e.id, 1 + cardinality(e.words) * 0.1 as score from entities e
        where e.workspace_id = aos_workspace() and e.canonical_name = any(n_names)
        union all
        select m.entity_id, 1.05 from entity_mentions m
        where m.workspace_id = aos_workspace() and lower(m.alias) = any(n_names)
        union all
        select e.id, (select count(*) from unnest(e.words) w where w = any(n_words))::real / cardinality(e.words)
        from entities e where e.words && n_words and e.workspace_id = aos_workspace()
        union all
        select e.id, 0.9 from entities e
        where n_prefix <> '' and e.workspace_id = aos_workspace()
          and e.canonical_name ~>=~ n_prefix and e.canonical_name ~<~ (n_prefix || chr(1114111))
    ), best as (
        select n.id, max(n.score)::real as score from named n where n.score >= n_least group by n.id
    )
    select b.id, b.score from best b join entities e on e.id = b.id
    where e.tenant_id = aos_tenant() and (n_type is null or e.type = n_type) and exists (
        select 1 from entity_mentions m
        join graph_documents(aos_tenant(), aos_workspace(), n_agent) d on d.version_id = m.version_id
        where m.entity_id = b.id and m.tenant_id = aos_tenant() and m.workspace_id = aos_workspace()
          and (d.readers = '{}' or d.readers && aos_principals() or aos_principals() @> array['*']))
    order by b.score desc, cardinality(e.words), b.id limit depth
$$;
revoke all on function entities_named(text[], text[], text, text, uuid, real, int) from public;
grant execute on function entities_named(text[], text[], text, text, uuid, real, int) to aos_app;
