-- documents: How many documents with a text a workspace has.
select count(*) as total from documents
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and current_version is not null;

-- pages: Texts of the current versions, document by document, after the one that was looked at last.
select d.id as document_id, d.filename, p.number, p.text from documents d
join pages p on p.version_id = d.current_version and p.tenant_id = d.tenant_id and p.workspace_id = d.workspace_id
where d.tenant_id = %(tenant)s and d.workspace_id = %(workspace)s and (d.id, p.number) > (%(document)s, %(number)s)
order by d.id, p.number limit %(limit)s;

-- messages: Messages in which something was masked, how many finds of each kind, and which runs they belong to.
select f.key as kind, sum(f.value::int) as finds, count(*) as messages from messages m,
    jsonb_each_text(coalesce(m.content -> 'findings', '{}')) f
where m.tenant_id = %(tenant)s and m.workspace_id = %(workspace)s and f.key <> 'injection'
group by f.key order by f.key;

-- masked_messages: How many messages that are, and how many runs they began or ended.
select count(*) as messages, count(distinct m.run_id) as runs from messages m
where m.tenant_id = %(tenant)s and m.workspace_id = %(workspace)s
  and coalesce(m.content -> 'findings', '{}') - 'injection' <> '{}';

-- message_samples: Some of them, without what they say.
select m.session_id, m.seq, (m.content -> 'findings') - 'injection' as finds from messages m
where m.tenant_id = %(tenant)s and m.workspace_id = %(workspace)s
  and coalesce(m.content -> 'findings', '{}') - 'injection' <> '{}'
order by m.created_at desc limit %(limit)s;
