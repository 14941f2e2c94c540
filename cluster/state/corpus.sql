-- lock: Whoever changes what a workspace finds takes this first, and rows of agents and documents after it.
select w.id from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s for no key update;

-- changed: What was remembered of searches is old now.
update workspaces w set corpus_version = corpus_version + 1
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;
