-- Which embedder made a generation, beyond its name: other weights under one name cannot be compared with its vectors.
-- Empty for generations from before, of which the name tells until somebody writes into them.
alter table generations add column embedder_fingerprint text not null default '';

drop function open_generation(text, int, text, text, boolean);
create function open_generation(
    g_embedder text, g_embedder_fingerprint text, g_dimension int, g_chunker text, g_fingerprint text, fresh boolean
) returns int language plpgsql security definer set search_path = public, pg_temp as $$
declare found_id int;
begin
    perform pg_advisory_xact_lock(hashtext('aos.generations'));
    select id into found_id from generations where fingerprint = g_fingerprint order by build desc limit 1;
    if found_id is not null and not fresh then
        return found_id;
    end if;
    insert into generations (embedder, embedder_fingerprint, dimension, chunker, fingerprint, build)
    values (g_embedder, g_embedder_fingerprint, g_dimension, g_chunker, g_fingerprint,
            1 + coalesce((select max(build) from generations where fingerprint = g_fingerprint), 0))
    returning id into found_id;
    execute format('create table embeddings_%s partition of embeddings for values in (%s)', found_id, found_id);
    execute format('create index on embeddings_%s (workspace_id, chunk_id)', found_id);
    execute format('create index on embeddings_%s (chunk_id)', found_id);
    execute format('create index on embeddings_%s (document_id)', found_id);
    execute format('alter table embeddings_%s enable row level security', found_id);
    execute format('alter table embeddings_%s force row level security', found_id);
    execute format('create policy belongs on embeddings_%s to public using (%s)', found_id,
        'tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()) and (readers = ''{}'' '
        'or readers && (select aos_principals()) or (select aos_principals()) @> array[''*''])');
    execute format('grant select, insert, update, delete on embeddings_%s to aos_app', found_id);
    return found_id;
end $$;

create function adopt_embedder(g_id int, g_embedder_fingerprint text) returns void
language sql security definer set search_path = public, pg_temp as $$
    update generations set embedder_fingerprint = g_embedder_fingerprint
    where id = g_id and embedder_fingerprint = '' and g_embedder_fingerprint <> ''
$$;
