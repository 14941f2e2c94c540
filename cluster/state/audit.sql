-- record: Append an entry whose hash covers the one before it.
select append_audit(%(actor)s, %(action)s, %(object)s, %(outcome)s, %(detail)s) as seq;

-- page: The newest entries of the tenant.
select seq, at, actor, action, object, outcome, detail, hash from audit where tenant_id = %(tenant)s
order by seq desc offset %(skip)s limit %(limit)s;

-- broken: The first entry whose hash or link does not match, if any.
select seq from (
    select seq, hash, previous, lag(hash, 1, '') over (order by seq) as before,
           audit_hash(previous, seq, at, actor, action, object, outcome, detail) as computed
    from audit where tenant_id = %(tenant)s
) chain where hash <> computed or previous <> before order by seq limit 1;
