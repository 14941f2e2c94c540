-- begin: A run, and what it measures.
insert into golden_runs (set_id, tenant_id, workspace_id, options, settings, fingerprint, total, lease_until, created_by,
    role)
values (%(set)s, %(tenant)s, %(workspace)s, %(options)s, %(settings)s, %(fingerprint)s, %(total)s,
        clock_timestamp() + make_interval(secs => %(lease)s), %(user)s, %(role)s)
returning id, fence;

-- made_with: What made the vectors of a generation, or of the live one.
select g.embedder, g.embedder_fingerprint, g.dimension
from workspaces w join generations g on g.id = coalesce(%(generation)s::int, w.generation_id)
where w.id = %(workspace)s and w.tenant_id = %(tenant)s;

-- claim_next: Runs whose process is gone, in any workspace.
select id, tenant_id, workspace_id, fence from claim_golden_runs(make_interval(secs => %(lease)s), %(most)s);

-- heartbeat: It is being worked on; no row where it was cancelled, or somebody else goes on with it.
update golden_runs set lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(run)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s and fence = %(fence)s
  and state = 'running' returning false as cancel_requested;

-- hold: Lock the run for this transaction if the fencing token still holds.
select created_by, role, options, fingerprint, total - done as open from golden_runs
where id = %(run)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s and fence = %(fence)s
  and state = 'running' for update;

-- release: Let go of a run that has not ended; no process died over it.
update golden_runs set lease_until = clock_timestamp(), lapses = greatest(lapses - 1, 0)
where id = %(run)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s and fence = %(fence)s
  and state = 'running';

-- resume: Go on with a run that was interrupted or failed; whoever worked on it before writes nothing more.
update golden_runs set state = 'running', fence = fence + 1, finished_at = null, role = %(role)s, lapses = 0,
    lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
where id = %(run)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and (state = 'running' and lease_until < clock_timestamp() or state in ('failed', 'cancelled'))
returning fence;

-- forget_failed: Questions at which a part did not run are asked again.
delete from golden_results where run_id = %(run)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and failures <> '{}';

-- cancel: End it; the questions that were asked stay.
update golden_runs set state = 'cancelled', finished_at = clock_timestamp(), lease_until = null
where id = %(run)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s and state = 'running' returning id;

-- put_result: What came of a question.
insert into golden_results (run_id, key, tenant_id, workspace_id, position, question, measured, retrieved, mode, answer,
                            failures, engines)
values (%(run)s, %(key)s, %(tenant)s, %(workspace)s, %(position)s, %(question)s, %(measured)s, %(retrieved)s, %(mode)s,
        %(answer)s, %(failures)s, %(engines)s)
on conflict (run_id, key) do update set measured = excluded.measured, retrieved = excluded.retrieved,
    mode = excluded.mode, answer = excluded.answer, failures = excluded.failures, engines = excluded.engines,
    at = clock_timestamp();

-- progress: How far it is; a run that gets on has not crashed.
update golden_runs r set done = (select count(*) from golden_results g where g.run_id = r.id), lapses = 0,
    generation_id = coalesce(%(generation)s, generation_id)
where r.id = %(run)s and r.workspace_id = %(workspace)s and r.tenant_id = %(tenant)s;

-- finish: Its figures, and what did not run.
update golden_runs set state = %(state)s, figures = %(figures)s, failures = %(failures)s, lease_until = null,
    finished_at = clock_timestamp()
where id = %(run)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s;

-- show: A run as its readers see it.
select r.id, r.set_id, s.name as set_name,
       case when r.state = 'running' and r.lease_until < clock_timestamp() then 'interrupted' else r.state end as state,
       r.options, r.settings, r.fingerprint, r.generation_id, r.total, r.done, r.figures, r.failures, r.created_by,
       r.created_at, r.finished_at
from golden_runs r join golden_sets s on s.id = r.set_id and s.workspace_id = r.workspace_id
where r.workspace_id = %(workspace)s and r.tenant_id = %(tenant)s
  and (%(run)s::uuid is null or r.id = %(run)s::uuid) and (%(set)s::uuid is null or r.set_id = %(set)s::uuid)
order by r.created_at desc, r.id offset %(skip)s limit %(limit)s;

-- count: How many runs a set has.
select count(*) as total from golden_runs
where set_id = %(set)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s;

-- results: What came of each question, in the set's order; names only of documents that the reader may see.
select g.key, g.question, g.measured, g.mode, g.answer, g.failures,
       array(select d.filename from unnest(g.retrieved) with ordinality r(id, place)
             join documents d on d.id = r.id and d.workspace_id = %(workspace)s order by r.place) as retrieved
from golden_results g where g.run_id = %(run)s and g.workspace_id = %(workspace)s and g.tenant_id = %(tenant)s
order by g.position, g.key offset %(skip)s limit %(limit)s;

-- measured: The measures of each question, and the engines that answered it.
select g.key, g.question, g.measured, g.failures, g.engines from golden_results g
where g.run_id = %(run)s and g.workspace_id = %(workspace)s and g.tenant_id = %(tenant)s order by g.position, g.key;

-- cited: The texts of pages at places that an answer cites.
select p.version_id, p.number, p.text from pages p
join unnest(%(versions)s::text[], %(numbers)s::int[]) w(version, number) on p.version_id = w.version and p.number = w.number
where p.workspace_id = %(workspace)s and p.tenant_id = %(tenant)s;
