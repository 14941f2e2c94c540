-- document_without_version: documents whose current version is gone
x.current_version is not null and not exists (select from document_versions v where v.id = x.current_version)

-- document_without_pages: documents that are completed and have no page
x.status in ('completed', 'degraded', 'embedding_pending') and coalesce(x.processed_date, x.upload_date) < %(before)s
and exists (select from document_versions v where v.id = x.current_version and v.page_count > 0)
and not exists (select from pages p where p.version_id = x.current_version)
and not exists (select from jobs j join units u on u.job_id = j.id and u.subject = x.current_version
                where j.workspace_id = x.workspace_id and j.state in ('queued', 'running') and u.status = 'pending')

-- document_without_some_pages: documents of which not every page was accounted for
x.status in ('completed', 'degraded', 'embedding_pending', 'partial')
and coalesce(x.processed_date, x.upload_date) < %(before)s
and exists (select from pages p where p.version_id = x.current_version)
and (select v.page_count from document_versions v where v.id = x.current_version)
    <> (select count(*) from pages p where p.version_id = x.current_version)
and not exists (select from jobs j join units u on u.job_id = j.id and u.subject = x.current_version
                where j.workspace_id = x.workspace_id and j.state in ('queued', 'running') and u.status = 'pending')

-- document_without_chunks: documents that are completed, and of which a search finds nothing
x.status = 'completed' and x.chunk_count > 0 and coalesce(x.processed_date, x.upload_date) < %(before)s
and exists (select from workspaces w where w.id = x.workspace_id and w.generation_id is not null)
and exists (select from document_versions v where v.id = x.current_version)
and not exists (select from document_chunks c where c.version_id = x.current_version)
and not exists (select from jobs j join units u on u.job_id = j.id and u.subject = x.current_version
                where j.workspace_id = x.workspace_id and j.state in ('queued', 'running') and u.status = 'pending')

-- chunk_without_vector: chunks without a vector in the generation that is searched, of documents that say they have all
exists (select from workspaces w join generations g on g.id = w.generation_id
        join documents d on d.id = x.document_id and d.workspace_id = w.id
        where w.id = x.workspace_id and g.chunker = x.chunker and d.current_version = x.version_id and d.has_embeddings
          and coalesce(d.processed_date, d.upload_date) < %(before)s
          and not exists (select from embeddings e where e.generation_id = g.id and e.chunk_id = x.id))
and not exists (select from jobs j join units u on u.job_id = j.id and u.subject = x.version_id
                where j.workspace_id = x.workspace_id and j.state in ('queued', 'running') and u.status = 'pending')

-- vector_of_unused_generation: vectors of a generation that their workspace does not use
not exists (select from workspaces w
            where w.id = x.workspace_id and x.generation_id in (w.generation_id, w.previous_generation_id))
and not exists (select from generation_builds b left join jobs j on j.id = b.job_id
                where b.workspace_id = x.workspace_id and b.generation_id = x.generation_id
                  and (b.state in ('ready', 'refused') or b.state = 'building' and j.state in ('queued', 'running')))
and not exists (select from jobs j where j.workspace_id = x.workspace_id and j.state in ('queued', 'running'))
and exists (select from generations g where g.id = x.generation_id and g.created_at < %(before)s)

-- chunk_of_unused_cut: chunks of a cut that no generation of their workspace uses
exists (select from workspaces w where w.id = x.workspace_id and w.generation_id is not null)
and not exists (
    select from workspaces w join generations g on g.chunker = x.chunker
    where w.id = x.workspace_id and (g.id in (w.generation_id, w.previous_generation_id) or exists (
        select from generation_builds b left join jobs j on j.id = b.job_id
        where b.workspace_id = w.id and b.generation_id = g.id
          and (b.state in ('ready', 'refused') or b.state = 'building' and j.state in ('queued', 'running')))))
and not exists (select from jobs j where j.workspace_id = x.workspace_id and j.state in ('queued', 'running'))
and exists (select from documents d where d.id = x.document_id
            and coalesce(d.processed_date, d.upload_date) < %(before)s)

-- workspace_without_generation: workspaces that search a generation which is gone
x.generation_id is not null and not exists (select from generations g where g.id = x.generation_id)

-- entity_without_mention: entities of which no page says anything
x.created_at < %(before)s and not exists (select from entity_mentions m where m.entity_id = x.id)

-- relation_without_evidence: relations for which there is no evidence
not exists (select from relation_evidence e where e.relation_id = x.id)

-- evidence_without_page: evidence on a page that is gone
not exists (select from pages p where p.version_id = x.version_id and p.number = x.page)
and exists (select from document_versions v where v.id = x.version_id)

-- event_of_nobody: events of a job or a run that is gone
x.at < %(before)s and case
    when x.stream ~ '^job:[0-9a-f-]{36}$' then not exists (select from jobs j where j.id = substr(x.stream, 5)::uuid)
    when x.stream ~ '^run:[0-9a-f-]{36}$' then not exists (select from runs r where r.id = substr(x.stream, 5)::uuid)
    else false end

-- counter_of_nobody: counters of events of a job or a run that is gone
case when x.stream ~ '^job:[0-9a-f-]{36}$' then not exists (select from jobs j where j.id = substr(x.stream, 5)::uuid)
     when x.stream ~ '^run:[0-9a-f-]{36}$' then not exists (select from runs r where r.id = substr(x.stream, 5)::uuid)
     else false end
and not exists (select from events e where e.stream = x.stream)

-- approval_of_ended_run: approvals and questions that wait for a run which has ended
x.state = 'pending' and x.category in ('approval', 'input') and x.created_at < %(before)s
and exists (select from runs r where r.id = x.run_id and r.state in ('completed', 'failed', 'cancelled'))

-- run_that_waits_for_nothing: runs that wait, and nobody is asked anything
x.state = 'waiting' and coalesce(x.started_at, x.created_at) < %(before)s
and not exists (select from approvals a where a.run_id = x.id)
and not exists (select from runs c where c.parent_id = x.id)

-- event_for_nobody: events for webhooks that are gone
x.created_at < %(before)s and not exists (select from webhook_deliveries d where d.outbox_id = x.id)

-- job_of_dead_worker: jobs whose worker is gone, and that no other has taken up
x.state = 'running' and x.lease_until < %(before)s

-- run_of_dead_worker: runs whose worker is gone, and that no other has taken up
x.state = 'running' and x.lease_until < %(before)s

-- due_time_of_dead_worker: due times of schedules whose worker is gone, and that no other has taken up
x.due_at is not null and x.lease_until < %(before)s

-- examination_of_dead_worker: golden runs whose worker is gone, and that no other has taken up
x.state = 'running' and x.lease_until < %(before)s

-- dead_lane_worker: workers that were not seen any more
x.seen_at < %(before)s

-- watch_of_nothing: watches of sources that nobody wants watched
x.lease_until < %(before)s
and exists (select from sources s where s.id = x.source_id and not (s.enabled and s.watch))

-- upload_run_out: uploads that have run out and that nobody will complete
x.expires_at < %(before)s and coalesce(x.claimed_until, '-infinity') < %(before)s

-- setting_of_gone_workspace: settings of a workspace that is gone
x.key ~ '^default_llm_connection_id:[0-9a-f-]{36}$'
and not exists (select from workspaces w where w.id = substr(x.key, 27)::uuid)
