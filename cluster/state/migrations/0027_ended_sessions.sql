-- An access token ends with its session: with logout, a refresh token that came twice, a new password, a reset. And it
-- ends where what its holder may do becomes different: roles, memberships, deactivation.

-- A session is a login and the refresh tokens that descend from it (their `family`). An ended one is remembered until
-- its tokens would have run out: API keys that were made in it are found by it.
alter table refresh_tokens add column ended_at timestamptz;

-- The session in which a key was made; empty for keys from before.
alter table api_keys add column session uuid;
create index on api_keys (user_id) where revoked_at is null;

-- Which access tokens of a user are good: those that carry this number. Whatever changes a user's rights raises it, also
-- where somebody changes a row by hand; a counter, because clocks of replicas differ and tokens tell whole seconds.
alter table users add column token_version int not null default 0;

create function renew_own_tokens() returns trigger language plpgsql as $$
begin
    new.token_version := old.token_version + 1;
    return new;
end $$;

create trigger tokens_end_with_rights before update on users for each row
when (old.role is distinct from new.role or old.disabled is distinct from new.disabled
    or old.password_hash is distinct from new.password_hash)
execute function renew_own_tokens();

create function renew_member_tokens() returns trigger language plpgsql as $$
begin
    update users set token_version = token_version + 1 where id = old.user_id and tenant_id = old.tenant_id;
    return null;
end $$;

create trigger tokens_end_with_role after update on memberships for each row
when (old.role is distinct from new.role) execute function renew_member_tokens();

create trigger tokens_end_with_membership after delete on memberships for each row
execute function renew_member_tokens();
