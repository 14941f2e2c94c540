-- The oldest entries of the trail go once collectors have them: what one that was asked within thirty days lacks stays, as the
-- trail is its spool. A collector that nobody names any more keeps nothing after that.
create or replace function prune_audit(before timestamptz, most int, p_actor text) returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    upto bigint;
    sent bigint;
    its_hash text;
    went bigint;
begin
    perform pg_advisory_xact_lock(hashtextextended('aos.audit.' || aos_tenant()::text, 0));
    if exists (select from legal_holds h where h.tenant_id = aos_tenant() and h.released_at is null) then
        return 0;  -- the trail is evidence then
    end if;
    select min(c.seq) into sent from audit_cursors c
    where c.tenant_id = aos_tenant()
      and greatest(c.confirmed_at, c.next_at, c.lease_until) > clock_timestamp() - interval '30 days';
    select max(o.seq) into upto from (
        select a.seq, bool_and(a.at < before and a.seq <= coalesce(sent, a.seq)) over (order by a.seq) as due
        from audit a where a.tenant_id = aos_tenant() order by a.seq limit most) o
    where o.due;
    if upto is null then
        return 0;
    end if;
    select a.hash into its_hash from audit a where a.tenant_id = aos_tenant() and a.seq = upto;
    select count(*) into went from audit a where a.tenant_id = aos_tenant() and a.seq <= upto;
    perform append_audit(p_actor, 'audit.prune', aos_tenant()::text, 'done',
                         jsonb_build_object('through', upto, 'removed', went, 'hash', its_hash));
    insert into audit_anchors (tenant_id, seq, hash, removed) values (aos_tenant(), upto, its_hash, went);
    delete from audit a where a.tenant_id = aos_tenant() and a.seq <= upto;
    return went;
end $$;
