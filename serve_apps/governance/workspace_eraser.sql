-- workspace: One workspace of the tenant, with its name and how much is in it.
select w.id, w.name,
       (select count(*) from documents d where d.workspace_id = w.id) as documents,
       (select count(*) from pages p where p.workspace_id = w.id) as pages,
       (select count(*) from document_chunks c where c.workspace_id = w.id) as chunks,
       (select count(*) from agents a where a.workspace_id = w.id) as agents,
       (select count(*) from sessions s where s.workspace_id = w.id) as conversations,
       (select count(*) from jobs j where j.workspace_id = w.id and j.state in ('queued', 'running')) as open_jobs,
       (select count(*) from runs r where r.workspace_id = w.id and r.state = 'running') as open_runs
from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- workspaces: All of a tenant's, the oldest first.
select w.id, w.name from workspaces w where w.tenant_id = %(tenant)s order by w.created_at, w.id;

-- child: A tenant that was made below one's own, and how many were made below it.
select t.id, t.name from tenants t where t.id = %(child)s and t.parent_id = %(tenant)s;

-- grandchildren: Tenants below that one; asked inside of it.
select count(*) as total from tenants t where t.parent_id = %(tenant)s;

-- lock: Nobody writes an index of this workspace, and none deletes it twice.
select w.id from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s for update;

-- wait_for_holds: Whoever puts a hold in this tenant is waited for, and waits until this has ended.
select wait_for_holds(%(tenant)s::uuid);

-- refuse_held: Raises where the workspace is held, or a document in it, or somebody of whom it keeps anything.
select refuse_if_held(%(tenant)s::uuid, array_agg(h.kind), array_agg(h.object_id)) from legal_holds h
where h.tenant_id = %(tenant)s::uuid and h.released_at is null and (
    (h.kind = 'workspace' and h.object_id = %(workspace)s::text)
    or (h.kind = 'document' and (
        exists (select from documents d where d.id = h.object_id and d.workspace_id = %(workspace)s::uuid)
        or exists (select from answer_citations c where c.document_id = h.object_id and c.workspace_id = %(workspace)s::uuid)))
    or (h.kind = 'person' and (
        exists (select from sessions s where s.user_id::text = h.object_id and s.workspace_id = %(workspace)s::uuid)
        or exists (select from runs r where r.user_id::text = h.object_id and r.workspace_id = %(workspace)s::uuid)
        or exists (select from answers a where a.user_id::text = h.object_id and a.workspace_id = %(workspace)s::uuid)
        or exists (select from facts f where f.user_id::text = h.object_id and f.workspace_id = %(workspace)s::uuid))));

-- refuse_held_tenant: Raises where anything of the tenant is held.
select refuse_if_held(%(tenant)s::uuid, array_agg(h.kind), array_agg(h.object_id)) from legal_holds h
where h.tenant_id = %(tenant)s::uuid and h.released_at is null;

-- return_to: The rest of the transaction is of another tenant, as whose it is recorded.
select set_config('aos.tenant', %(tenant)s, true), set_config('aos.workspace', %(workspace)s, true);

-- vectors: By workspace, for which there is an index; the cascade would look for chunk after chunk.
delete from embeddings e where e.workspace_id = %(workspace)s;

-- documents: Versions, pages, chunks, links and what was found in them follow.
delete from documents d where d.workspace_id = %(workspace)s;

-- freed_blobs: The list of files to be looked for; the whole folder goes.
delete from freed_blobs f where f.workspace_id = %(workspace)s;

-- events: What jobs and runs have told; no key leads from these to the workspace.
delete from events e where e.workspace_id = %(workspace)s;

-- event_streams: Their counters.
delete from event_streams s where s.workspace_id = %(workspace)s;

-- webhooks: Whoever was told of what happened here is told no more.
delete from webhooks h where h.workspace_id = %(workspace)s;

-- outbox: What was to be sent.
delete from outbox o where o.workspace_id = %(workspace)s;

-- delete_workspace: The workspace; everything else in it follows.
delete from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- delete_tenant: The tenant, asked inside of it; its people and their keys follow, its audit trail stays.
delete from tenants t where t.id = %(tenant)s;
