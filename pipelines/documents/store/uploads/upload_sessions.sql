-- add: Announce an upload.
insert into upload_sessions (id, tenant_id, workspace_id, user_id, protocol, filename, content_type, total_bytes,
    part_bytes, file_hash, options, created_at, expires_at)
values (%(id)s, %(tenant)s, %(workspace)s, %(user)s, %(protocol)s, %(filename)s, %(content_type)s, %(total_bytes)s,
    %(part_bytes)s, %(file_hash)s, %(options)s, %(created_at)s, %(expires_at)s)

-- lock: One who begins an upload at a time, for one person; counted is afterwards, in a statement that sees the others'.
select pg_advisory_xact_lock(hashtextextended('aos.uploads.' || %(user)s::uuid::text, 0))

-- count_open: A person's uploads that have not ended, and the bytes that were announced with them.
select count(*) as open, coalesce(sum(total_bytes), 0)::bigint as bytes from upload_sessions
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s
  and state in ('open', 'completing', 'failed') and expires_at > %(now)s

-- show: An upload of one's own.
select * from upload_sessions
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s

-- hold: The same, against everybody else until the transaction ends.
select * from upload_sessions
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s
for update

-- mine: One's own uploads that have not run out, newest first.
select * from upload_sessions
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s and expires_at > %(now)s
order by created_at desc, id limit %(limit)s offset %(skip)s

-- count_mine: How many those are.
select count(*) as total from upload_sessions
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s and expires_at > %(now)s

-- parts: What has arrived, in order.
select number, location, size, sha256 from upload_parts
where session_id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s
order by number

-- part: One part, where it has arrived.
select number, location, size, sha256 from upload_parts
where session_id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and number = %(number)s

-- arrived: How many parts and bytes have arrived, and the number of the last one.
select count(*) as parts, coalesce(max(number), 0) as last, coalesce(sum(size), 0)::bigint as bytes from upload_parts
where session_id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s

-- put_part: A part has arrived; one that came before is replaced, and where that was is told.
with former as (
    select location from upload_parts
    where session_id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and number = %(number)s
), put as (
    insert into upload_parts (session_id, tenant_id, workspace_id, number, location, size, sha256)
    values (%(id)s, %(tenant)s, %(workspace)s, %(number)s, %(location)s, %(size)s, %(sha256)s)
    on conflict (session_id, number) do update
    set location = excluded.location, size = excluded.size, sha256 = excluded.sha256
)
select location from former

-- noted: Which of these bytes a part has.
select location from upload_parts
where session_id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and location = any(%(locations)s)

-- drop_part: Forget a part whose bytes are not what they were said to be, unless others have come in their place.
delete from upload_parts
where session_id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and location = %(location)s
returning location

-- drop_from: The same with every part that follows.
delete from upload_parts
where session_id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and number >= (select p.number from upload_parts p
                 where p.session_id = %(id)s and p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s
                   and p.location = %(location)s)
returning location

-- touch: Something has come: it goes on.
update upload_sessions set state = 'open', reason = '', claim = null, claimed_until = null, expires_at = %(expires_at)s
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s

-- claim: Put it together from now on, unless somebody does, or it has ended.
update upload_sessions
set state = 'completing', claim = %(claim)s, claimed_until = %(until)s, wholes = array_append(wholes, %(whole)s),
    expires_at = greatest(expires_at, %(until)s)
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s
  and (state in ('open', 'failed') or (state = 'completing' and claimed_until <= %(now)s))

-- renew: Still at it.
update upload_sessions set claimed_until = %(until)s, expires_at = greatest(expires_at, %(until)s)
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and claim = %(claim)s

-- release: Leave it as it was, or say why it could not be completed; who has lost the claim says nothing.
update upload_sessions set state = %(state)s, reason = %(reason)s, claim = null, claimed_until = null
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and claim = %(claim)s

-- finish: It is a document, unless the claim was lost; what was said of the document is with that from now on.
update upload_sessions
set state = 'completed', reason = '', claim = null, claimed_until = null, document_id = %(document)s, job_id = %(job)s,
    options = '{}', wholes = array_remove(wholes, %(whole)s::text)
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and claim = %(claim)s

-- abort: Nobody wants it any more.
update upload_sessions
set state = 'aborted', claim = null, claimed_until = null, options = '{}'
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s and user_id = %(user)s
  and state in ('open', 'failed', 'completing')

-- forget_parts: The rows of all parts of an upload that has ended.
delete from upload_parts where session_id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s

-- ended: Uploads that have run out, in all tenants.
select id::text, tenant_id::text, workspace_id::text from ended_uploads(%(now)s, %(most)s)

-- hold_ended: One of them, if it still is, against everybody else; those that others have are passed over.
select wholes from upload_sessions
where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s
  and expires_at <= %(now)s and coalesce(claimed_until, '-infinity') <= %(now)s
for update skip locked

-- remove: The row of an upload that has ended.
delete from upload_sessions where id = %(id)s and tenant_id = %(tenant)s and workspace_id = %(workspace)s

-- sizes: The bytes of these uploads, and of a part of each.
select id::text, total_bytes, part_bytes from upload_sessions
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = any(%(ids)s::uuid[]);

-- known: Which of these there are.
select id::text from upload_sessions
where tenant_id = %(tenant)s and workspace_id = %(workspace)s and id = any(%(ids)s::uuid[])
