-- begun: Whether the audit trail has this import already.
select a.seq from audit a
where a.tenant_id = %(tenant)s and a.action in ('workspace.import', 'workspace.merge') and a.object = %(workspace)s::text
  and a.detail->>'export' = %(export)s limit 1;

-- put_settings: What the exported workspace was set to, where nobody has set anything here.
update workspaces w set language = case when w.language = 'auto' then %(language)s else w.language end,
    ocr_languages = coalesce(w.ocr_languages, %(ocr_languages)s::text[]),
    chunk_strategy = coalesce(w.chunk_strategy, %(chunk_strategy)s)
where w.id = %(workspace)s and w.tenant_id = %(tenant)s
  and not exists (select from documents d where d.workspace_id = w.id);

-- put_agent: An agent; one of that name stays. A credential of a name that it knew is not given to it.
insert into agents (id, tenant_id, workspace_id, name, description, system_prompt, auto_link_uploads, config, metadata,
                    whole_workspace)
values (%(id)s, %(tenant)s, %(workspace)s, %(name)s, %(description)s, %(system_prompt)s, %(auto_link_uploads)s,
        %(config)s::jsonb - 'credentials', %(metadata)s::jsonb, %(whole_workspace)s)
on conflict do nothing;

-- put_set: A set of questions; one of that name stays.
insert into golden_sets (id, tenant_id, workspace_id, name, description, gate, least_recall)
values (%(id)s, %(tenant)s, %(workspace)s, %(name)s, %(description)s, %(gate)s, %(least_recall)s)
on conflict do nothing;

-- put_question: A question of a set that was brought.
insert into golden_questions (set_id, tenant_id, workspace_id, key, question, documents, passages, answers, answerable)
select g.id, %(tenant)s, %(workspace)s, %(key)s, %(question)s, %(documents)s, %(passages)s, %(answers)s, %(answerable)s
from golden_sets g where g.id = %(set)s and g.workspace_id = %(workspace)s
on conflict (set_id, key) do nothing;

-- put_folder: Readers of a folder; those that are there stay.
insert into folder_readers (tenant_id, workspace_id, folder, prefixes, readers)
values (%(tenant)s, %(workspace)s, %(folder)s, %(prefixes)s, %(readers)s)
on conflict do nothing;

-- put_parents: What came out of which container.
update documents d set parent_id = r.parent from unnest(%(documents)s::text[], %(parents)s::text[]) as r(id, parent)
where d.id = r.id and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.parent_id is null
  and exists (select from documents c where c.id = r.parent and c.workspace_id = d.workspace_id);

-- without_vectors: Documents of this import that lack vectors.
select count(*) as total from documents d
where d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and not d.has_embeddings
  and d.metadata->'imported_from'->>'export' = %(export)s;
