-- receive: An event that is taken for the first time; no row where it was taken before, and who takes it now is waited for.
insert into event_receipts (tenant_id, workspace_id, event_id, request_hash, about)
values (%(tenant)s, %(workspace)s, %(event)s, %(hash)s, '')
on conflict (workspace_id, event_id) do nothing
returning event_id;

-- receipt: What an event led to.
select request_hash, about, job_id from event_receipts
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and event_id = %(event)s;

-- settle: What it led to, in the transaction that takes it.
update event_receipts set about = %(about)s, job_id = %(job)s::uuid
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and event_id = %(event)s;
