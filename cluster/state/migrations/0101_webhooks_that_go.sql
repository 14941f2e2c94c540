-- A webhook that is deleted while something is announced ends nobody's transaction: it is waited for, or passed over.

create or replace function announce_event(
    e_tenant uuid, e_workspace uuid, e_topic text, e_subject text, e_payload jsonb, e_readers text[]) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    wanted text[] := array[e_topic, split_part(e_topic, '.', 1) || '.*', '*'];
    made bigint;
begin
    if not exists (select from webhooks w where w.workspace_id = e_workspace and w.enabled and w.topics && wanted) then
        return;
    end if;
    insert into outbox (tenant_id, workspace_id, topic, subject, payload, readers)
    values (e_tenant, e_workspace, e_topic, e_subject, e_payload, e_readers) returning id into made;
    insert into webhook_deliveries (webhook_id, outbox_id, tenant_id, workspace_id, subject)
    select w.id, made, e_tenant, e_workspace, e_subject from webhooks w
    where w.workspace_id = e_workspace and w.enabled and w.topics && wanted for key share of w;
end $$;
