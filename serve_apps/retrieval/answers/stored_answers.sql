-- keep: An answer, once; the state of the documents is that of now.
insert into answers (id, tenant_id, workspace_id, readers, user_id, agent_id, run_id, question, question_hash, mode,
                     model, fallback, abstained, generation, corpus_version, claims, conflicts, dropped, search, calculation,
                     classification)
select %(id)s, w.tenant_id, w.id, %(readers)s, %(user)s, %(agent)s, %(run)s, %(question)s, %(hash)s, %(mode)s,
       %(model)s, %(fallback)s, %(abstained)s, coalesce(%(generation)s, w.generation_id), w.corpus_version, %(claims)s,
       %(conflicts)s, %(dropped)s, %(search)s, %(calculation)s, %(classification)s
from workspaces w where w.id = %(workspace)s and w.tenant_id = %(tenant)s
on conflict (id) do nothing;

-- cite: A place that an answer rests on.
insert into answer_citations (answer_id, n, tenant_id, workspace_id, document_id, version_id, chunk_id, page,
                              first_char, end_char, quote_hash)
values (%(answer)s, %(n)s, %(tenant)s, %(workspace)s, %(document)s, %(version)s, %(chunk)s, %(page)s, %(start)s,
        %(end)s, %(hash)s)
on conflict (answer_id, n) do nothing;

-- show: An answer of one's own, or for an administrator any.
select a.id, a.user_id, a.agent_id, a.run_id, a.question, a.mode, a.model, a.fallback, a.abstained, a.generation,
       a.corpus_version, a.claims, a.conflicts, a.dropped, a.search, a.calculation, a.at, a.classification,
       w.corpus_version as corpus_now
from answers a join workspaces w on w.id = a.workspace_id
where a.id = %(id)s and a.workspace_id = %(workspace)s and a.tenant_id = %(tenant)s;

-- cited: The places an answer rests on, each with what is there now; without a filename where its document is gone or
-- is none that the reader may see.
select c.n, c.document_id, c.version_id, c.chunk_id, c.page, c.first_char, c.end_char, c.quote_hash,
       d.filename, d.current_version = c.version_id as is_current, v.file_hash, v.kind, k.chunk_index, k.headings,
       p.number, p.text, p.words, p.engine, p.confidence, p.attempts, p.fingerprint, p.read_at,
       caveats_of(p.version_id, array[p.number]) as caveats, coalesce(made.corrections, '[]') as corrections,
       j.id as job_id, j.kind as job_kind, j.state as job_state, j.finished_at as job_finished_at
from answer_citations c
left join documents d on d.id = c.document_id and d.workspace_id = %(workspace)s
left join document_versions v on v.id = c.version_id and v.document_id = d.id and v.workspace_id = %(workspace)s
left join pages p on p.version_id = v.id and p.number = c.page and p.workspace_id = %(workspace)s
left join document_chunks k on k.id = c.chunk_id and k.version_id = v.id and k.workspace_id = %(workspace)s
left join lateral (
    -- A page that was taken over from another version has the moment of its reading from there.
    select u.job_id from document_versions w
    join pages o on o.version_id = w.id and o.number = p.number and o.read_at = p.read_at
    join units u on u.stage = 'read' and u.key = o.id and u.workspace_id = %(workspace)s and u.status = 'done'
    where w.document_id = p.document_id and w.workspace_id = %(workspace)s
    order by u.settled_at desc nulls last limit 1) reading on true
left join jobs j on j.id = reading.job_id and j.workspace_id = %(workspace)s
left join lateral (
    -- What people have corrected on the page in readings of the same bytes. Also before the answer was stored: it may quote a
    -- page that was loaded earlier.
    select jsonb_agg(jsonb_build_object('here', k.version_id = c.version_id, 'line', k.line, 'start', k.start_at,
               'before', k.text_before, 'after', k.text_after, 'whole', k.whole, 'box', k.box, 'at', k.at,
               'since', k.at > coalesce(r.started_at, r.created_at, a.at)) order by k.at, k.id) as corrections
    from page_corrections k join answers a on a.id = c.answer_id
    left join runs r on r.id = a.run_id and r.workspace_id = a.workspace_id
    where k.document_id = d.id and k.page = c.page and k.file_hash = v.file_hash and k.workspace_id = %(workspace)s) made on true
where c.answer_id = %(id)s and c.workspace_id = %(workspace)s and c.tenant_id = %(tenant)s
order by c.n;

-- seen: Which of these documents the reader sees.
select d.id, d.filename from documents d where d.id = any(%(documents)s) and d.workspace_id = %(workspace)s;

-- corrected_since: Of some answers those that cite a page whose text somebody has corrected since, and when last. Their pages
-- were loaded at some moment after their run began.
select a.id, max(k.at) as at from answers a
left join runs r on r.id = a.run_id and r.workspace_id = a.workspace_id
join answer_citations c on c.answer_id = a.id and c.workspace_id = a.workspace_id
join document_versions v on v.id = c.version_id and v.workspace_id = a.workspace_id
join page_corrections k on k.document_id = c.document_id and k.page = c.page and k.workspace_id = a.workspace_id
    and k.file_hash = v.file_hash and k.text_before <> k.text_after and k.at > coalesce(r.started_at, r.created_at, a.at)
where a.id = any(%(answers)s::uuid[]) and a.workspace_id = %(workspace)s and a.tenant_id = %(tenant)s
group by a.id;
