-- corpus: The state of what a workspace can find, the generation that is live, which of the caller's principals its
-- documents name at all (who differ in others see the same), and a digest of what says which language models help: the
-- connections of the workspace, the one that is the default, and the routing of who pays for them. What was found through
-- an index that turned out to miss something is no state of its own: each such discovery makes another revision.
select w.revision + (select coalesce(sum(f.times), 0) from index_faults f)::bigint as revision,
       g.id as generation, g.embedder, g.embedder_fingerprint, g.dimension,
       array(select p.principal from document_principals p
             where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s and p.principal = any(%(principals)s)
             order by p.principal) as named,
       md5(concat_ws(E'\n',
           (select string_agg(concat_ws(' ', c.id, c.name, c.base_url, c.provider, c.model, c.enabled, c.supports_tools,
                                        c.price_in, c.price_out), E'\n' order by c.id)
            from llm_connections c
            where c.tenant_id = %(tenant)s and c.workspace_id = %(workspace)s),
           (select string_agg(s.key || s.value::text, E'\n' order by s.key)
            from system_settings s
            where s.key in ('default_llm_connection_id:' || %(workspace)s::uuid::text, 'default_llm_connection_id')),
           (select a.config ->> 'llm_routing'
            from agents a
            where a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s
              and case when %(agent)s::uuid is null then a.name = %(assistant)s else a.id = %(agent)s end)
       )) as models
from workspaces w left join generations g on g.id = w.generation_id
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;
