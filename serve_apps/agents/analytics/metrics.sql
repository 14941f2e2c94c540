-- documents: Uploaded documents.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(upload_date at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', upload_date at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(upload_date at time zone 'UTC', 'YYYY-MM')
            when 'status' then status when 'type' then file_type when 'source' then source_type end as part,
        count(*)::float8 as value
    from documents
    where tenant_id = %(tenant)s and workspace_id = %(workspace)s
      and upload_date >= %(since)s and upload_date < %(until)s and (%(state)s::text is null or status = %(state)s)
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- pages: Pages that were read, of the versions that readers see.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(p.read_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', p.read_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(p.read_at at time zone 'UTC', 'YYYY-MM')
            when 'engine' then p.engine when 'type' then d.file_type end as part,
        count(*)::float8 as value
    from pages p join documents d on d.id = p.document_id and d.current_version = p.version_id
    where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s
      and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s and p.failure is null
      and p.read_at >= %(since)s and p.read_at < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- ocr_confidence: Mean confidence of pages that an OCR engine read.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(p.read_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', p.read_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(p.read_at at time zone 'UTC', 'YYYY-MM')
            when 'engine' then p.engine when 'type' then d.file_type end as part,
        avg(p.confidence)::float8 as value
    from pages p join documents d on d.id = p.document_id and d.current_version = p.version_id
    where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s
      and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
      and p.failure is null and p.confidence is not null and p.engine not in ('native', 'native+human')
      and p.read_at >= %(since)s and p.read_at < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- failures: Pages that could not be read, and documents that could not be opened.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(at at time zone 'UTC', 'YYYY-MM')
            when 'reason' then coalesce(failure ->> 'reason', 'unknown')
            when 'stage' then coalesce(failure ->> 'stage', 'unknown') when 'type' then file_type end as part,
        count(*)::float8 as value
    from (
        select p.failure, p.read_at as at, d.file_type
        from pages p join documents d on d.id = p.document_id and d.current_version = p.version_id
        where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s
          and d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s and p.failure is not null
        union all
        select failure, coalesce(processed_date, upload_date), file_type from documents
        where tenant_id = %(tenant)s and workspace_id = %(workspace)s and failure is not null
    ) every
    where at >= %(since)s and at < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- storage: Bytes of the documents' current versions.
select part, value from (
    select case %(by)s::text when 'type' then d.file_type when 'source' then d.source_type end as part,
        coalesce(sum(v.file_size), 0)::float8 / 1e6 as value
    from documents d join document_versions v on v.id = d.current_version
    where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s
      and v.tenant_id = %(tenant)s and v.workspace_id = %(workspace)s
      and d.upload_date >= %(since)s and d.upload_date < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- jobs: Ingestion jobs.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', created_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(created_at at time zone 'UTC', 'YYYY-MM')
            when 'status' then state when 'type' then kind end as part,
        count(*)::float8 as value
    from jobs
    where tenant_id = %(tenant)s and workspace_id = %(workspace)s
      and created_at >= %(since)s and created_at < %(until)s and (%(state)s::text is null or state = %(state)s)
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- job_seconds: Mean time from a job's start to its end.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(finished_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', finished_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(finished_at at time zone 'UTC', 'YYYY-MM')
            when 'status' then state when 'type' then kind end as part,
        avg(extract(epoch from finished_at - started_at))::float8 as value
    from jobs
    where tenant_id = %(tenant)s and workspace_id = %(workspace)s and started_at is not null
      and finished_at >= %(since)s and finished_at < %(until)s and (%(state)s::text is null or state = %(state)s)
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- runs: Turns of agents, delegated ones among them.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', r.created_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(r.created_at at time zone 'UTC', 'YYYY-MM')
            when 'status' then r.state when 'path' then r.path when 'agent' then a.name end as part,
        count(*)::float8 as value
    from runs r join agents a on a.id = r.agent_id
    where r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
      and a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s
      and r.created_at >= %(since)s and r.created_at < %(until)s and (%(state)s::text is null or r.state = %(state)s)
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- run_failures: Share of the ended turns that failed.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(r.finished_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', r.finished_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(r.finished_at at time zone 'UTC', 'YYYY-MM')
            when 'path' then r.path when 'agent' then a.name end as part,
        (100.0 * count(*) filter (where r.state = 'failed') / count(*))::float8 as value
    from runs r join agents a on a.id = r.agent_id
    where r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
      and a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s and r.state in ('completed', 'failed', 'cancelled')
      and r.finished_at >= %(since)s and r.finished_at < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- run_seconds: Mean time from a turn's start to its end, waiting for people included.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(r.finished_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', r.finished_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(r.finished_at at time zone 'UTC', 'YYYY-MM')
            when 'path' then r.path when 'agent' then a.name end as part,
        avg(extract(epoch from r.finished_at - r.started_at))::float8 as value
    from runs r join agents a on a.id = r.agent_id
    where r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
      and a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s
      and r.state = 'completed' and r.started_at is not null
      and r.finished_at >= %(since)s and r.finished_at < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- tokens: Tokens of the turns' own model calls.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', r.created_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(r.created_at at time zone 'UTC', 'YYYY-MM')
            when 'path' then r.path when 'agent' then a.name end as part,
        sum(r.prompt_tokens + r.completion_tokens)::float8 as value
    from runs r join agents a on a.id = r.agent_id
    where r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
      and a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s
      and r.created_at >= %(since)s and r.created_at < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- cost: What the turns' own model calls cost by the connections' prices.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', r.created_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(r.created_at at time zone 'UTC', 'YYYY-MM')
            when 'path' then r.path when 'agent' then a.name end as part,
        sum(r.cost_usd)::float8 as value
    from runs r join agents a on a.id = r.agent_id
    where r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s
      and a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s
      and r.created_at >= %(since)s and r.created_at < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- tool_calls: Calls of tools.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(s.at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', s.at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(s.at at time zone 'UTC', 'YYYY-MM')
            when 'status' then s.state when 'tool' then s.name end as part,
        count(*)::float8 as value
    from run_steps s
    where s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and s.kind = 'tool'
      and s.at >= %(since)s and s.at < %(until)s and (%(state)s::text is null or s.state = %(state)s)
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- approvals: Actions that were put before a person.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(p.created_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', p.created_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(p.created_at at time zone 'UTC', 'YYYY-MM')
            when 'status' then p.state when 'tool' then p.tool when 'agent' then a.name end as part,
        count(*)::float8 as value
    from approvals p join agents a on a.id = p.agent_id
    where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s
      and a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s and p.category = 'approval'
      and p.created_at >= %(since)s and p.created_at < %(until)s and (%(state)s::text is null or p.state = %(state)s)
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- approval_seconds: Mean time that people took to decide.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(p.decided_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', p.decided_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(p.decided_at at time zone 'UTC', 'YYYY-MM')
            when 'status' then p.state when 'tool' then p.tool when 'agent' then a.name end as part,
        avg(extract(epoch from p.decided_at - p.created_at))::float8 as value
    from approvals p join agents a on a.id = p.agent_id
    where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s
      and a.tenant_id = %(tenant)s and a.workspace_id = %(workspace)s and p.category = 'approval'
      and p.state in ('approved', 'rejected')
      and p.decided_at >= %(since)s and p.decided_at < %(until)s and (%(state)s::text is null or p.state = %(state)s)
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;

-- sessions: Conversations that were begun.
select part, value from (
    select case %(by)s::text
            when 'day' then to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD')
            when 'week' then to_char(date_trunc('week', s.created_at at time zone 'UTC'), 'YYYY-MM-DD')
            when 'month' then to_char(s.created_at at time zone 'UTC', 'YYYY-MM')
            when 'agent' then coalesce(a.name, 'none') end as part,
        count(*)::float8 as value
    from sessions s left join agents a on a.id = s.agent_id and a.workspace_id = %(workspace)s
    where s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s
      and s.created_at >= %(since)s and s.created_at < %(until)s and %(state)s::text is null
    group by 1) grouped
order by case when %(by)s::text = any(%(times)s) then part end desc, value desc, part limit %(limit)s;
