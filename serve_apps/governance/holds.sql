-- list: Holds with the addresses of who put and who released them, the newest first.
select h.id, h.kind, h.object_id, h.name, h.reason, h.held_by, p.email as held_by_email, h.held_at, h.released_by,
       r.email as released_by_email, h.released_at, h.release_reason
from legal_holds h
left join users p on p.id = h.held_by and p.tenant_id = h.tenant_id
left join users r on r.id = h.released_by and r.tenant_id = h.tenant_id
where h.tenant_id = %(tenant)s and (not %(standing)s or h.released_at is null)
  and (%(object)s::text is null or h.object_id = %(object)s)
order by h.held_at desc, h.id offset %(skip)s limit %(limit)s;

-- total: How many holds the same filters find.
select count(*) as total from legal_holds h
where h.tenant_id = %(tenant)s and (not %(standing)s or h.released_at is null)
  and (%(object)s::text is null or h.object_id = %(object)s);

-- wait_for_deletion: Whoever deletes anything that can be held is waited for; whoever comes later waits, and sees this hold.
select pg_advisory_xact_lock(hashtextextended('aos.holds.' || %(tenant)s::text, 0));

-- find_document: A document of the scope's workspace.
select id from documents where id = %(object)s and tenant_id = %(tenant)s and workspace_id = aos_workspace();

-- find_person: An account of the tenant.
select id from users where id = %(object)s and tenant_id = %(tenant)s;

-- find_workspace: A workspace of the tenant.
select id from workspaces where id = %(object)s and tenant_id = %(tenant)s;

-- put: A new hold.
insert into legal_holds (tenant_id, kind, object_id, name, reason, held_by)
values (%(tenant)s, %(kind)s, %(object)s, %(name)s, %(reason)s, %(user)s) returning *;

-- lock: A hold that is to be released.
select * from legal_holds where id = %(hold)s and tenant_id = %(tenant)s for update;

-- release: The end of a hold.
update legal_holds set released_by = %(user)s, released_at = clock_timestamp(), release_reason = %(reason)s
where id = %(hold)s and tenant_id = %(tenant)s returning *;
