-- The wall of a hold around what runs, conversations and memory have kept; and sign-outs at a provider that come before the
-- sign-in they end has become a session.
--
-- Locks: the tables that get a trigger against writers for the moment in which it is added.

-- A document that is held, or came out of one that is.
create function is_quote_held(h_tenant uuid, h_workspace uuid, h_runs uuid[]) returns boolean
language sql stable set search_path = public, pg_temp as $$
    with recursive up (id) as (
        select c.document_id from answers a join answer_citations c on c.answer_id = a.id
        where a.workspace_id = h_workspace and a.tenant_id = h_tenant and coalesce(a.run_id, a.id) = any(h_runs)
        union select d.parent_id from documents d join up u on d.id = u.id where d.parent_id is not null)
    select exists (select from legal_holds h where h.tenant_id = h_tenant and h.released_at is null
                   and h.kind = 'document' and h.object_id in (select id from up))
$$;

-- Whether a hold stands on whoever a run is for, on its workspace, or on a document that it quotes.
create function is_run_held(h_tenant uuid, h_workspace uuid, h_user uuid, h_run uuid) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select exists (select from legal_holds h where h.tenant_id = h_tenant and h.released_at is null)
       and (is_held(h_tenant, h_workspace, 'person', h_user::text) or is_quote_held(h_tenant, h_workspace, array[h_run]))
$$;

-- The same of a conversation with all its runs.
create function is_conversation_held(h_tenant uuid, h_workspace uuid, h_user uuid, h_session uuid) returns boolean
language sql stable set search_path = public, pg_temp as $$
    select exists (select from legal_holds h where h.tenant_id = h_tenant and h.released_at is null)
       and (is_held(h_tenant, h_workspace, 'person', h_user::text)
            or is_quote_held(h_tenant, h_workspace, (
                select array_agg(r.id) from runs r where r.session_id = h_session and r.workspace_id = h_workspace)))
$$;

-- Raises AOH09 where one of the documents that some runs quote is held.
create function refuse_if_quote_held(h_tenant uuid, h_workspace uuid, h_runs uuid[]) returns void
language plpgsql stable set search_path = public, pg_temp as $$
declare cited text;
begin
    if exists (select from legal_holds h where h.tenant_id = h_tenant and h.released_at is null) then
        for cited in
            select distinct c.document_id from answers a join answer_citations c on c.answer_id = a.id
            where a.workspace_id = h_workspace and a.tenant_id = h_tenant and coalesce(a.run_id, a.id) = any(h_runs)
        loop
            perform refuse_if_document_held(h_tenant, h_workspace, cited);
        end loop;
    end if;
end $$;

-- Until the transaction ends nobody puts a hold in the tenant, and whoever is putting one is waited for: what is asked after
-- this is the last word. A hold is put under the same lock, exclusively; deletions do not wait for one another.
create function wait_for_holds(h_tenant uuid) returns void language sql set search_path = public, pg_temp as $$
    select pg_advisory_xact_lock_shared(hashtextextended('aos.holds.' || h_tenant, 0))
$$;

-- The same walls as before, behind that lock; a row is unfolded only where something is held.
create or replace function refuse_held_document() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    perform wait_for_holds(old.tenant_id);
    if exists (select from legal_holds h where h.tenant_id = old.tenant_id and h.released_at is null) then
        perform refuse_if_document_held(old.tenant_id, old.workspace_id,
            case tg_table_name when 'documents' then to_jsonb(old)->>'id' else to_jsonb(old)->>'document_id' end);
    end if;
    return case tg_op when 'DELETE' then old else new end;
end $$;
create or replace function refuse_held_person() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare who text;
begin
    perform wait_for_holds(old.tenant_id);
    if exists (select from legal_holds h where h.tenant_id = old.tenant_id and h.released_at is null) then
        who := case tg_table_name
            when 'users' then to_jsonb(old)->>'id'
            when 'messages' then (select s.user_id::text from sessions s where s.id = (to_jsonb(old)->>'session_id')::uuid)
            else to_jsonb(old)->>'user_id' end;
        perform refuse_if_held(old.tenant_id, array['person', 'workspace'], array[who, to_jsonb(old)->>'workspace_id']);
    end if;
    return case tg_op when 'DELETE' then old else new end;
end $$;
create or replace function refuse_held_workspace() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    perform wait_for_holds(old.tenant_id);
    perform refuse_if_held(old.tenant_id, array['workspace'], array[old.id::text]);
    return old;
end $$;

-- Raises AOH09 where a workspace is held, or one of some people or whoever some runs are for, or a document quoted there.
create function refuse_if_runs_held(h_tenant uuid, h_workspace uuid, h_users uuid[], h_runs uuid[]) returns void
language plpgsql stable set search_path = public, pg_temp as $$
declare whose text[];
begin
    select coalesce(array_agg(w::text), '{}') into whose from (
        select unnest(h_users) as w union select r.user_id from runs r where r.id = any(h_runs)) x
    where w is not null;
    perform refuse_if_held(h_tenant, 'workspace'::text || array_fill('person'::text, array[cardinality(whose)]),
                           h_workspace::text || whose);
    perform refuse_if_quote_held(h_tenant, h_workspace, h_runs);
end $$;

-- Whatever belongs to a run or to a conversation is held by whoever it is of, by the workspace, and by a document that is
-- quoted there. A cascade comes to it after its run or its conversation, which was looked at itself, had gone.
create function refuse_held_record() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    gone jsonb;
    its_session uuid;
    its_runs uuid[];
begin
    perform wait_for_holds(old.tenant_id);
    if not exists (select from legal_holds h where h.tenant_id = old.tenant_id and h.released_at is null) then
        return old;
    end if;
    gone := to_jsonb(old);
    if tg_table_name = 'event_streams' then
        if gone->>'stream' like 'run:%' then
            its_runs := array[substr(gone->>'stream', 5)::uuid];
        end if;
    elsif tg_table_name = 'runs' then
        its_runs := array[(gone->>'id')::uuid];
    elsif tg_table_name = 'answers' then
        its_runs := array[coalesce(gone->>'run_id', gone->>'id')::uuid];
    elsif tg_table_name in ('approvals', 'run_feedback') then
        its_runs := array[(gone->>'run_id')::uuid];
    else
        its_session := (case tg_table_name when 'sessions' then gone->>'id' else gone->>'session_id' end)::uuid;
        select array_agg(r.id) into its_runs from runs r
        where r.workspace_id = old.workspace_id and r.session_id = its_session;
    end if;
    perform refuse_if_runs_held(old.tenant_id, old.workspace_id,
        array(select (gone->>'user_id')::uuid
              union select s.user_id from sessions s where s.id = (gone->>'session_id')::uuid), its_runs);
    return old;
end $$;

-- The same of events and of journals, of which a run has many: they are looked at by run, once for a whole statement.
create function refuse_held_journals() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare
    place record;
    its_runs uuid[];
begin
    for place in select distinct g.tenant_id, g.workspace_id from gone g loop
        perform wait_for_holds(place.tenant_id);
        if exists (select from legal_holds h where h.tenant_id = place.tenant_id and h.released_at is null) then
            if tg_table_name = 'events' then
                its_runs := array(select distinct substr(g.stream, 5)::uuid from gone g
                                  where g.workspace_id = place.workspace_id and g.stream like 'run:%');
            else
                its_runs := array(select distinct g.run_id from gone g where g.workspace_id = place.workspace_id);
            end if;
            perform refuse_if_runs_held(place.tenant_id, place.workspace_id, '{}', its_runs);
        end if;
    end loop;
    return null;
end $$;

do $$
declare
    name text;
begin
    foreach name in array array['runs', 'approvals', 'run_feedback', 'event_streams', 'answers', 'sessions', 'messages',
                                'session_summaries', 'episodes', 'facts'] loop
        execute format('create trigger held_records_stay before delete on %I for each row execute function '
                       'refuse_held_record()', name);
    end loop;
    foreach name in array array['run_steps', 'events'] loop
        execute format('create trigger held_records_stay after delete on %I referencing old table as gone '
                       'for each statement execute function refuse_held_journals()', name);
    end loop;
end $$;
create trigger held_quotes_stay before delete on answer_citations for each row execute function refuse_held_document();

-- Sign-outs that a provider told of, for as long as a sign-in that began before may still be on its way.
create table provider_logouts (
    tenant_id uuid not null references tenants on delete cascade,
    issuer text not null,
    session text not null,
    subject text not null,
    made_at timestamptz not null,
    told_at timestamptz not null
);
create index on provider_logouts (tenant_id, issuer, told_at);
create policy belongs on provider_logouts using (tenant_id = (select aos_tenant()));
alter table provider_logouts enable row level security;
alter table provider_logouts force row level security;
grant select, insert, delete on provider_logouts to aos_app;

-- When the provider made the ID token of a sign-in that is on its way.
alter table sign_in_handoffs add column issued_at timestamptz;

-- Uploaded bytes of which no row is left, until somebody has seen that the file is gone: whoever deletes rows may die before
-- it deletes their files. No foreign key: it is written while its workspace goes, which deletes it itself.
create table freed_blobs (
    tenant_id uuid not null,
    workspace_id uuid not null,
    location text not null,
    freed_at timestamptz not null default clock_timestamp(),
    primary key (workspace_id, location)
);
create policy belongs on freed_blobs
    using (tenant_id = (select aos_tenant()) and workspace_id = (select aos_workspace()));
alter table freed_blobs enable row level security;
alter table freed_blobs force row level security;
grant select, insert, update, delete on freed_blobs to aos_app;

create function remember_freed_blobs() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare gone jsonb := to_jsonb(old);
begin
    insert into freed_blobs (tenant_id, workspace_id, location)
    select old.tenant_id, old.workspace_id, l.location from (
        select gone->>'location' as location
        union
        select u from jsonb_array_elements_text(
            case jsonb_typeof(gone->'metadata'->'uploads') when 'array' then gone->'metadata'->'uploads' else '[]' end) u) l
    where l.location like 'blob:%'
    on conflict (workspace_id, location) do update set freed_at = excluded.freed_at;
    return null;
end $$;
create trigger bytes_are_freed after delete on documents for each row execute function remember_freed_blobs();
create trigger bytes_are_freed after delete on document_versions for each row execute function remember_freed_blobs();
