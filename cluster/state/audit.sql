-- record: Append an entry whose hash covers the one before it.
select append_audit(%(actor)s, %(action)s, %(object)s, %(outcome)s, %(detail)s) as seq;

-- page: The newest entries of the tenant that fit, each with whether its hash is right and follows the one before it.
select a.seq, a.at, a.actor, u.email as actor_email, a.action, a.object, a.outcome, a.detail, a.hash,
       (a.hash = now.hash or exists (select from audit_redactions r where r.tenant_id = a.tenant_id and r.seq = a.seq
                                       and r.hash = a.hash and r.new_hash = now.hash))
       and a.previous = coalesce(
           (select b.hash from audit b where b.tenant_id = a.tenant_id and b.seq = a.seq - 1),
           (select c.hash from audit_anchors c where c.tenant_id = a.tenant_id and c.seq = a.seq - 1),
           case when a.seq = 1 then '' end, 'missing') as intact
from audit a
cross join lateral (
    select audit_hash(a.previous, a.seq, a.at, a.actor, a.action, a.object, a.outcome, a.detail)) now(hash)
left join users u on u.tenant_id = a.tenant_id and u.id::text = a.actor
where a.tenant_id = %(tenant)s
  and (%(actor)s::text is null or a.actor = %(actor)s or u.email = lower(%(actor)s))
  and (%(action)s::text is null or a.action = %(action)s or starts_with(a.action, %(action)s || '.'))
  and (%(object)s::text is null or a.object = %(object)s)
  and (%(outcome)s::text is null or a.outcome = %(outcome)s)
  and (%(since)s::timestamptz is null or a.at >= %(since)s)
  and (%(until)s::timestamptz is null or a.at <= %(until)s)
  and (%(before)s::bigint is null or a.seq < %(before)s)
order by a.seq desc offset %(skip)s limit %(limit)s;

-- newest: How many entries there ever were, as their numbers have no gap.
select coalesce(max(seq), 0) as total from audit where tenant_id = %(tenant)s;

-- verify: How many of the entries after a number hold, up to another, and the first whose hash or link does not match. The
-- oldest rests on an anchor where others went before it, an entry that lost a name on what is on record of that.
with slice as (
    select * from audit where tenant_id = %(tenant)s and seq > %(after)s and seq <= %(last)s order by seq limit %(limit)s
), checked as (
    select s.seq, s.hash <> now.hash and not exists (
            select from audit_redactions r
            where r.tenant_id = s.tenant_id and r.seq = s.seq and r.hash = s.hash and r.new_hash = now.hash)
        or s.previous <> coalesce(
            lag(s.hash) over (order by s.seq),
            (select b.hash from audit b where b.tenant_id = s.tenant_id and b.seq = s.seq - 1),
            (select a.hash from audit_anchors a where a.tenant_id = s.tenant_id and a.seq = s.seq - 1),
            case when s.seq = 1 then '' end, 'missing') as is_broken
    from slice s cross join lateral (
        select audit_hash(s.previous, s.seq, s.at, s.actor, s.action, s.object, s.outcome, s.detail)) now(hash)
)
select count(*) as checked, coalesce(max(seq), %(after)s) as reached, min(seq) filter (where is_broken) as broken
from checked;

-- between: The numbers of the entries between two moments.
select coalesce(min(seq) - 1, 0) as after, coalesce(max(seq), 0) as last from audit
where tenant_id = %(tenant)s
  and (%(since)s::timestamptz is null or at >= %(since)s) and (%(until)s::timestamptz is null or at <= %(until)s);
