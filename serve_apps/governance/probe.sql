-- entries: Entries of the trail, the oldest first.
select a.seq, a.object, a.detail from audit a
where a.tenant_id = %(tenant)s and a.seq > %(after)s order by a.seq limit %(limit)s;

-- redact: Entries without a name.
select redact_audit(%(erasure)s::uuid, (x->>'seq')::bigint, x->>'object', x->'detail')
from jsonb_array_elements(%(entries)s::jsonb) x;
