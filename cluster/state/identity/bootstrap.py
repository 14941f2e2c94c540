"""The first start: a tenant, a workspace, an administrator with a password nobody else knows."""

import secrets
from collections.abc import Callable

from argon2 import PasswordHasher

from cluster.state.db.primary import connect_primary
from configs.sections_identity import AuthSettings


def new_password() -> str:
    """One that nobody guesses."""
    return secrets.token_urlsafe(15)


async def first_admin(conninfo: str, settings: AuthSettings, make: Callable[[], str] = new_password) -> str | None:
    """Make the first administrator where there is no user yet.

    `conninfo` is that of the schema's owner, who sees all tenants, on one server. `make` is called for a password,
    unless the operator chose one, before anything is stored: what it keeps outlives a start that fails. Returns the new
    password, to be printed once and changed at the first login; None where users exist already.
    """
    async with await connect_primary(conninfo, None) as connection:
        await connection.execute("select pg_advisory_xact_lock(hashtext('aos.bootstrap'))")
        cursor = await connection.execute("select exists (select 1 from users)")
        row = await cursor.fetchone()
        if row and row[0]:
            return None
        password = settings.admin_password or make()
        await connection.execute(
            """
            with t as (insert into tenants (name) values ('default') returning id),
                 w as (insert into workspaces (tenant_id, name) select id, 'default' from t returning id, tenant_id),
                 u as (insert into users (tenant_id, email, password_hash, must_change_password, role)
                       select id, %s, %s, true, 'admin' from t returning id)
            insert into memberships (user_id, workspace_id, tenant_id, role)
            select u.id, w.id, w.tenant_id, 'admin' from u, w
            """,
            (settings.admin_email.lower(), PasswordHasher().hash(password)),
        )
    return password
