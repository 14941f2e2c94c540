-- What an organisation keeps: legal holds, periods of retention, erasures with their receipts; and an audit trail that
-- can be shortened at its old end, and lose a name, without its chain breaking.
--
-- Locks: documents, document_versions, pages, sessions, messages, runs, users and workspaces against writers for the
-- moment in which a trigger is added; audit against everybody for as long as one is replaced.

-- A hold is never changed and never deleted: it is released, once, by somebody, for a reason. No foreign key: it outlives
-- whatever it was on.
create table legal_holds (
    id uuid primary key default gen_random_uuid(),
    tenant_id uuid not null,
    kind text not null check (kind in ('document', 'person', 'workspace')),
    object_id text not null check (object_id <> ''),
    name text not null check (name <> ''),
    reason text not null check (reason <> ''),
    held_by uuid not null,
    held_at timestamptz not null default clock_timestamp(),
    released_by uuid,
    released_at timestamptz,
    release_reason text,
    check ((released_at is null) = (released_by is null) and (released_at is null) = (release_reason is null))
);
create index legal_holds_standing on legal_holds (tenant_id, kind, object_id) where released_at is null;

-- `marks` are what is looked for afterwards: ids, and keyed hashes of words; no content. `files` are places of bytes, as
-- their keys. Together they finish an erasure that was interrupted.
create table erasures (
    id uuid primary key,
    tenant_id uuid not null,
    workspace_id uuid not null,
    kind text not null check (kind in ('document', 'person')),
    subjects text[] not null check (cardinality(subjects) > 0),
    reason text not null check (reason <> ''),
    asked_by uuid not null,
    asked_at timestamptz not null,
    content jsonb not null,
    marks jsonb not null,
    files text[] not null default '{}',
    counts jsonb not null default '{}',
    state text not null default 'begun' check (state in ('begun', 'done')),
    receipt jsonb,
    finished_at timestamptz,
    check ((state = 'done') = (receipt is not null))
);
create index on erasures (tenant_id, asked_at desc, id);

-- Days for which a class is kept; without a row, and with null, it is kept. A workspace's own rule is before its tenant's.
create table retention_rules (
    tenant_id uuid not null references tenants on delete cascade,
    workspace_id uuid references workspaces on delete cascade,
    class text not null check (class in ('documents', 'versions', 'answers', 'conversations', 'messages', 'runs', 'journals', 'audit')),
    days int check (days between 1 and 36500),
    set_by uuid,
    set_at timestamptz not null default clock_timestamp(),
    check (class <> 'audit' or workspace_id is null),
    unique nulls not distinct (tenant_id, workspace_id, class)
);

-- When a tenant's retention ran last: of all replicas one takes a tenant.
create table retention_turns (
    tenant_id uuid primary key references tenants on delete cascade,
    ran_at timestamptz not null
);

-- Where the audit trail begins after its oldest entries went: the number and the hash of the last of them.
create table audit_anchors (
    tenant_id uuid not null,
    seq bigint not null,
    hash text not null,
    removed bigint not null,
    at timestamptz not null default clock_timestamp(),
    primary key (tenant_id, seq)
);

-- Entries that lost a name by an erasure: `new_hash` is of what stands there now, `hash` of what stood there stays in the
-- chain. Who changes the entry again fits neither.
create table audit_redactions (
    tenant_id uuid not null,
    seq bigint not null,
    erasure_id uuid not null,
    hash text not null,
    new_hash text not null,
    at timestamptz not null default clock_timestamp(),
    primary key (tenant_id, seq, new_hash)
);

do $$
declare
    name text;
begin
    foreach name in array array['legal_holds', 'erasures', 'retention_rules', 'retention_turns', 'audit_anchors',
                                'audit_redactions'] loop
        execute format('create policy belongs on %I using (tenant_id = (select aos_tenant()))', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('revoke all on %I from aos_app', name);
    end loop;
end $$;
grant select, insert, update on legal_holds, erasures to aos_app;
grant select, insert, update, delete on retention_rules, retention_turns to aos_app;
grant select on audit_anchors, audit_redactions to aos_app;

create function refuse_other_than_release() returns trigger language plpgsql as $$
begin
    if tg_op <> 'UPDATE' or old.released_at is not null or new.released_at is null
       or (to_jsonb(old) - '{released_by,released_at,release_reason}'::text[])
          <> (to_jsonb(new) - '{released_by,released_at,release_reason}'::text[]) then
        raise exception 'a legal hold is released, and nothing else';
    end if;
    return new;
end $$;
create trigger holds_are_only_released before update or delete on legal_holds
    for each row execute function refuse_other_than_release();

create function refuse_other_than_progress() returns trigger language plpgsql as $$
begin
    if tg_op <> 'UPDATE' or old.state = 'done'
       or (to_jsonb(old) - '{counts,state,receipt,finished_at}'::text[])
          <> (to_jsonb(new) - '{counts,state,receipt,finished_at}'::text[]) then
        raise exception 'an erasure is on record for good';
    end if;
    return new;
end $$;
create trigger erasures_are_on_record before update or delete on erasures
    for each row execute function refuse_other_than_progress();

-- The last wall of a hold --------------------------------------------------------------------------

-- Raises AOH09 where a hold stands on any of these objects, with whom to ask as the hint.
create function refuse_if_held(h_tenant uuid, kinds text[], objects text[]) returns void
language plpgsql stable set search_path = public, pg_temp as $$
declare found record;
begin
    select h.kind, h.object_id, h.name, coalesce(u.email, h.held_by::text) as who into found
    from unnest(kinds, objects) as asked(kind, object)
    join legal_holds h on h.tenant_id = h_tenant and h.kind = asked.kind and h.object_id = asked.object
                          and h.released_at is null
    left join users u on u.id = h.held_by and u.tenant_id = h.tenant_id
    order by h.held_at limit 1;
    if found is not null then
        raise exception using errcode = 'AOH09', hint = found.who,
            message = format('%s %s is held: %s', found.kind, found.object_id, found.name);
    end if;
end $$;

-- A document is held by itself, by what it came out of, and by its workspace.
create function refuse_if_document_held(h_tenant uuid, h_workspace uuid, h_document text) returns void
language plpgsql stable set search_path = public, pg_temp as $$
declare above text[];
begin
    if exists (select from legal_holds h where h.tenant_id = h_tenant and h.released_at is null) then
        with recursive up (id) as (
            select h_document
            union select d.parent_id from documents d join up u on d.id = u.id where d.parent_id is not null)
        select array_agg(id) into above from up;
        perform refuse_if_held(h_tenant, array_fill('document'::text, array[cardinality(above)]) || 'workspace'::text,
                               above || h_workspace::text);
    end if;
end $$;
create function refuse_held_document() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    perform refuse_if_document_held(old.tenant_id, old.workspace_id,
        case tg_table_name when 'documents' then to_jsonb(old)->>'id' else to_jsonb(old)->>'document_id' end);
    return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger held_documents_stay before delete on documents for each row execute function refuse_held_document();
create trigger held_versions_stay before delete on document_versions for each row execute function refuse_held_document();
create trigger held_pages_stay before delete on pages for each row execute function refuse_held_document();
create trigger held_pages_keep_their_text before update of text on pages
    for each row when (new.text is distinct from old.text) execute function refuse_held_document();

-- What a person said and did, and their account, are held by the person; all of it by its workspace.
create function refuse_held_person() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare who text;
begin
    if exists (select from legal_holds h where h.tenant_id = old.tenant_id and h.released_at is null) then
        who := case tg_table_name
            when 'users' then to_jsonb(old)->>'id'
            when 'messages' then (select s.user_id::text from sessions s where s.id = (to_jsonb(old)->>'session_id')::uuid)
            else to_jsonb(old)->>'user_id' end;
        perform refuse_if_held(old.tenant_id, array['person', 'workspace'], array[who, to_jsonb(old)->>'workspace_id']);
    end if;
    return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger held_people_stay before delete on users for each row execute function refuse_held_person();
create trigger held_sessions_stay before delete on sessions for each row execute function refuse_held_person();
create trigger held_messages_stay before delete on messages for each row execute function refuse_held_person();
create trigger held_messages_keep_their_text before update of content on messages
    for each row when (new.content is distinct from old.content) execute function refuse_held_person();
create trigger held_runs_stay before delete on runs for each row execute function refuse_held_person();
create trigger held_answers_stay before delete on answers for each row execute function refuse_held_person();

create function refuse_held_workspace() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    perform refuse_if_held(old.tenant_id, array['workspace'], array[old.id::text]);
    return old;
end $$;
create trigger held_workspaces_stay before delete on workspaces for each row execute function refuse_held_workspace();

-- The audit trail ----------------------------------------------------------------------------------

-- An entry goes where an anchor says so, and changes where a redaction says so; the application can write neither.
create or replace function refuse_change() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    if tg_op = 'DELETE' then
        if exists (select from audit_anchors a where a.tenant_id = old.tenant_id and a.seq >= old.seq) then
            return old;
        end if;
    elsif tg_op = 'UPDATE' then
        if (to_jsonb(old) - '{object,detail}'::text[]) = (to_jsonb(new) - '{object,detail}'::text[])
           and exists (select from audit_redactions r
                       where r.tenant_id = old.tenant_id and r.seq = old.seq and r.hash = old.hash
                         and r.new_hash = audit_hash(new.previous, new.seq, new.at, new.actor, new.action, new.object,
                                                     new.outcome, new.detail)) then
            return new;
        end if;
    end if;
    raise exception 'the audit trail is append-only';
end $$;

-- Whether a text or JSON is another one in which words were replaced by `[erased]`, and nothing else was changed.
create function is_redaction(former jsonb, later jsonb) returns boolean
language plpgsql immutable set search_path = public, pg_temp as $$
declare
    kind text := jsonb_typeof(former);
begin
    if kind is distinct from jsonb_typeof(later) then
        return false;
    elsif kind = 'string' then
        return (former #>> '{}') like
            replace(regexp_replace(later #>> '{}', '([\\%_])', '\\\1', 'g'), '[erased]', '%');
    elsif kind = 'object' then
        return (select array_agg(k order by k) from jsonb_object_keys(former) k)
                   is not distinct from (select array_agg(k order by k) from jsonb_object_keys(later) k)
           and not exists (select from jsonb_each(former) e where not is_redaction(e.value, later -> e.key));
    elsif kind = 'array' then
        return jsonb_array_length(former) = jsonb_array_length(later)
           and not exists (select from jsonb_array_elements(former) with ordinality e(value, at)
                           where not is_redaction(e.value, later -> (e.at - 1)::int));
    end if;
    return former = later;
end $$;

-- An entry's object and detail without what was erased, on behalf of an erasure that has not ended.
create function redact_audit(r_erasure uuid, r_seq bigint, r_object text, r_detail jsonb) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('aos.audit.' || aos_tenant()::text, 0));
    if not exists (select from erasures e where e.id = r_erasure and e.tenant_id = aos_tenant() and e.state = 'begun') then
        raise exception 'there is no such erasure under way';
    end if;
    if not exists (select from audit a where a.tenant_id = aos_tenant() and a.seq = r_seq
                   and is_redaction(to_jsonb(a.object), to_jsonb(r_object)) and is_redaction(a.detail, r_detail)) then
        raise exception 'an entry of the audit trail loses words, and nothing else of it changes';
    end if;
    insert into audit_redactions (tenant_id, seq, erasure_id, hash, new_hash)
    select a.tenant_id, a.seq, r_erasure, a.hash,
           audit_hash(a.previous, a.seq, a.at, a.actor, a.action, r_object, a.outcome, r_detail)
    from audit a where a.tenant_id = aos_tenant() and a.seq = r_seq
    on conflict do nothing;
    update audit set object = r_object, detail = r_detail where tenant_id = aos_tenant() and seq = r_seq;
end $$;

-- Entries from before a moment go, in one unbroken row from the oldest on; an anchor keeps the hash that the next rests on,
-- and the trail itself says that they went. What a collector that was asked within thirty days lacks stays, as the trail is
-- its spool; one that nobody names any more keeps nothing after that. How many went, at most `most`.
create function prune_audit(before timestamptz, most int, p_actor text) returns bigint
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

-- The tenant whose retention is the longest overdue, as an id; its next turn is `every` later. One of the functions that look
-- across tenants to find work.
create function claim_retention(now_at timestamptz, every interval) returns uuid
language plpgsql security definer set search_path = public, pg_temp as $$
declare found uuid;
begin
    perform pg_advisory_xact_lock(hashtext('aos.retention'));
    select t.id into found from tenants t left join retention_turns r on r.tenant_id = t.id
    where r.ran_at is null or r.ran_at <= now_at - every
    order by r.ran_at nulls first, t.id limit 1;
    if found is not null then
        insert into retention_turns (tenant_id, ran_at) values (found, now_at)
        on conflict (tenant_id) do update set ran_at = excluded.ran_at;
    end if;
    return found;
end $$;
revoke execute on function redact_audit(uuid, bigint, text, jsonb), prune_audit(timestamptz, int, text),
    claim_retention(timestamptz, interval) from public;
grant execute on function redact_audit(uuid, bigint, text, jsonb), prune_audit(timestamptz, int, text),
    claim_retention(timestamptz, interval) to aos_app;

-- Whether a hold stands on an object or on its workspace.
create function is_held(h_tenant uuid, h_workspace uuid, h_kind text, h_object text) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select exists (select from legal_holds h where h.tenant_id = h_tenant and h.released_at is null
                   and ((h.kind = h_kind and h.object_id = h_object)
                        or (h.kind = 'workspace' and h.object_id = h_workspace::text)))
$$;
