-- entries: Entries of the trail, the oldest first.
select a.seq, a.object, a.detail from audit a
where a.tenant_id = %(tenant)s and a.seq > %(after)s order by a.seq limit %(limit)s;

-- redact: An entry without a name.
select redact_audit(%(erasure)s::uuid, %(seq)s::bigint, %(object)s::text, %(detail)s::jsonb);
