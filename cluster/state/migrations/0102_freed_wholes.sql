-- Bytes of uploads that were put together, but are no document, are remembered when their upload's row goes, however it does:
-- an erasure deletes rows and no bytes. Those that a document has are left alone by whoever looks for what was freed.
create function remember_freed_wholes() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    insert into freed_blobs (tenant_id, workspace_id, location)
    select old.tenant_id, old.workspace_id, 'blob:' || old.tenant_id || '/' || old.workspace_id || '/' || w
    from (select distinct unnest(old.wholes) as w) names
    where exists (select from workspaces where id = old.workspace_id)  -- else all its bytes go
    on conflict (workspace_id, location) do update set freed_at = excluded.freed_at;
    return null;
end $$;
create trigger wholes_are_freed after delete on upload_sessions for each row
when (old.wholes <> '{}') execute function remember_freed_wholes();
