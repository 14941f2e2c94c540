-- claim: The tenant whose turn it is.
select claim_classification(%(now)s::timestamptz, %(every)s::interval)::text as tenant;

-- workspaces: All of a tenant's, the oldest first.
select w.id::text as id, w.corpus_version from workspaces w where w.tenant_id = %(tenant)s order by w.created_at, w.id;

-- due: Documents whose version that readers see was not looked at under these rules.
select d.id, d.filename, d.current_version from documents d
where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s and d.current_version is not null
  and d.id > %(after)s
  and d.classified_by is distinct from 'hand' and d.classified_with is distinct from %(rules)s || d.current_version
order by d.id limit %(limit)s;

-- left: How many of those there are.
select count(*) as total from documents d
where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s and d.current_version is not null
  and d.classified_by is distinct from 'hand' and d.classified_with is distinct from %(rules)s || d.current_version;

-- pages: Texts of a version, after the page that was looked at last; of masked pages the finds that were counted then.
select p.number, p.text, p.personal_data from pages p
where p.version_id = %(version)s and p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s and p.number > %(after)s
order by p.number limit %(limit)s;

-- settle: What the rules make of some versions, unless readers see another by now or somebody has decided by hand.
with given as (
    select * from unnest(%(documents)s::text[], %(versions)s::text[], %(names)s::text[], %(ranks)s::smallint[])
        as g(document, version, name, rank)),
before as (
    select d.id, d.classification, d.classified_with from documents d join given g on g.document = d.id
    where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s order by d.id for update of d)
update documents d set classification = g.name, classification_rank = g.rank, classified_by = 'policy',
                       classified_with = %(rules)s || d.current_version
from before b join given g on g.document = b.id
where d.id = b.id and d.workspace_id = %(workspace)s and d.current_version = g.version
  and d.classified_by is distinct from 'hand'
returning d.classification is distinct from b.classification or d.classified_with is distinct from b.classified_with as changed;

-- rank: The rank of what was decided by hand follows the rules.
update documents d set classification_rank = r.rank from unnest(%(names)s::text[], %(ranks)s::smallint[]) as r(name, rank)
where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s and d.classified_by = 'hand' and d.classification = r.name
  and d.classification_rank is distinct from r.rank;

-- set: A class by hand, which rules do not change; without one the rules decide again.
with before as (
    select d.id, d.classification from documents d
    where d.id = %(document)s and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s for update)
update documents d set classification = %(name)s, classification_rank = %(rank)s,
    classified_by = case when %(name)s::text is null then null else 'hand' end, classified_with = null
from before b where d.id = b.id and d.workspace_id = %(workspace)s
returning b.classification as before, d.current_version, d.filename;

-- show: The class of a document.
select d.classification, d.classification_rank, d.classified_by from documents d
where d.id = %(document)s and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s;

-- highest: The class of the highest rank among documents.
select d.classification from documents d
where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s and d.id = any(%(documents)s) and d.classification is not null
order by d.classification_rank desc nulls last, d.classification limit 1;
