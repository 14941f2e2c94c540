-- known: Whether a run is masked, and the placeholders that it has; a row without a label where it has none.
select r.masked, s.id, s.label, s.sealed from runs r
left join run_secrets s on s.run_id = r.id and s.tenant_id = r.tenant_id and s.workspace_id = r.workspace_id
where r.id = %(run)s and r.tenant_id = %(tenant)s and r.workspace_id = %(workspace)s;

-- keep: Seal what stands for new placeholders; one that is there stays.
insert into run_secrets (id, tenant_id, workspace_id, run_id, label, sealed)
select s.id, %(tenant)s, %(workspace)s, %(run)s, s.label, s.sealed
from unnest(%(ids)s::uuid[], %(labels)s::text[], %(envelopes)s::bytea[]) as s(id, label, sealed)
on conflict (run_id, label) do nothing;
