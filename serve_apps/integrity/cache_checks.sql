-- gone_workspaces: Which of these are no workspace.
select a.id from unnest(%(ids)s::text[]) a(id)
where not exists (select from workspaces w where w.id::text = a.id);

-- gone_sessions: Which of these are no conversation.
select a.id from unnest(%(ids)s::text[]) a(id)
where a.id ~ '^[0-9a-f-]{36}$' and not exists (select from sessions s where s.id = a.id::uuid);

-- gone_documents: Which of these are no document.
select a.id from unnest(%(ids)s::text[]) a(id)
where not exists (select from documents d where d.id = a.id);
