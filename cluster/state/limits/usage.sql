-- add: Count what was used to its periods.
select count_usage(%(resource)s::text, %(workspace)s::uuid, %(user)s::uuid, %(key)s::uuid, %(amount)s::numeric,
                   %(now)s::timestamptz);

-- used: How much of a resource a subject has used in one period.
select coalesce(sum(u.amount), 0) as amount from resource_usage u
where u.tenant_id = %(tenant)s and u.resource = %(resource)s and u.period = %(period)s and u.starts_at = %(start)s
  and case %(kind)s::text
      when 'key' then u.key_id = %(subject)s
      when 'user' then u.user_id = %(subject)s
      when 'workspace' then u.workspace_id = %(subject)s
      when 'group' then u.user_id in (select m.user_id from group_members m
                                      where m.group_id = %(subject)s and m.tenant_id = %(tenant)s)
      else true
  end;

-- jobs: How many jobs of a subject wait or run.
select open_jobs(%(kind)s::text, %(subject)s::uuid) as amount;

-- hold: One at a time counts the jobs of a subject and adds one, so that two do not both take the last place.
select pg_advisory_xact_lock(hashtextextended('jobs of ' || %(subject)s::text, 0));
