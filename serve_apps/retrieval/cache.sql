-- corpus: How often what a workspace can find has changed, the generation that is live, and which of the caller's
-- principals its documents name at all: who differ in others see the same.
select w.corpus_version, g.id as generation, g.embedder, g.embedder_fingerprint, g.dimension,
       array(select p.principal from document_principals p
             where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s and p.principal = any(%(principals)s)
             order by p.principal) as named
from workspaces w left join generations g on g.id = w.generation_id
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;
