-- rules: Rules of a tenant that concern somebody who is there, with the subject's name.
select r.subject_kind, r.subject_id, r.resource, r.amount, r.period, r.changed_at,
    case r.subject_kind
        when 'key' then (select k.name from api_keys k where k.id = r.subject_id and k.tenant_id = r.tenant_id
                         and k.revoked_at is null)
        when 'user' then (select u.email from users u where u.id = r.subject_id and u.tenant_id = r.tenant_id)
        when 'group' then (select g.name from groups g where g.id = r.subject_id and g.tenant_id = r.tenant_id
                           and g.deleted_at is null)
        when 'workspace' then (select w.name from workspaces w where w.id = r.subject_id and w.tenant_id = r.tenant_id)
        else (select t.name from tenants t where t.id = r.subject_id and t.id = r.tenant_id)
    end as name
from rate_limits r where r.tenant_id = %(tenant)s
order by r.subject_kind, r.subject_id, r.resource;

-- subject: That a key, user, group, workspace or tenant is there, and the tenant's.
select 1 as there where case %(kind)s::text
    when 'key' then exists (select from api_keys k where k.id = %(subject)s and k.tenant_id = %(tenant)s
                            and k.revoked_at is null)
    when 'user' then exists (select from users u where u.id = %(subject)s and u.tenant_id = %(tenant)s)
    when 'group' then exists (select from groups g where g.id = %(subject)s and g.tenant_id = %(tenant)s
                              and g.deleted_at is null)
    when 'workspace' then exists (select from workspaces w where w.id = %(subject)s and w.tenant_id = %(tenant)s)
    else %(subject)s::uuid = %(tenant)s::uuid
end;

-- put: A rule, in place of the one that was there.
insert into rate_limits (tenant_id, subject_kind, subject_id, resource, amount, period)
values (%(tenant)s, %(kind)s, %(subject)s, %(resource)s, %(amount)s, %(window)s)
on conflict (tenant_id, subject_kind, subject_id, resource)
    do update set amount = excluded.amount, period = excluded.period, changed_at = now();

-- remove: A rule is gone.
delete from rate_limits
where tenant_id = %(tenant)s and subject_kind = %(kind)s and subject_id = %(subject)s and resource = %(resource)s
returning amount;
