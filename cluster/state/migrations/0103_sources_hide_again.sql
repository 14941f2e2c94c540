-- Documents that a sync has shown again, though it was not whole, are hidden again when nobody confirms them either.

-- Sources with rights that nobody has confirmed for too long, as ids; after they were hidden that time begins anew.
create or replace function stale_sources(now_at timestamptz, most int)
returns table (id uuid, tenant_id uuid, workspace_id uuid)
language sql stable security definer set search_path = public, pg_temp as $$
    select s.id, s.tenant_id, s.workspace_id from sources s
    where s.has_rights
      and greatest(coalesce(s.last_success_at, s.created_at), s.hidden_at) + make_interval(hours => s.stale_after_hours) < now_at
    order by s.created_at, s.id limit most
$$;

-- Rights, failures and removals that a list of changes named once may have been lost: everything is listed once more.
update sources set cursor = null where kind in ('google_drive', 'onedrive');
