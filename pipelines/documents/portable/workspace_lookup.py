"""A workspace by its name or its id, for whoever may look at the whole installation."""

from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from cluster.basics.errors import Invalid, NotFound
from cluster.basics.ids import as_uuid
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.db.postgres import classify_postgres_error, load_queries, of_scope, settings_query
from cluster.state.db.primary import TimelineFence, connect_primary


async def find_workspace(
    application: str, owner: str | None, fence: TimelineFence | None, tenant: str | None, workspace: str
) -> Scope:
    """The scope of a workspace; with the connection of `owner` tenants are found by name, or need not be named.

    Raises NotFound; Invalid: several are called like that, or the tenant's id is needed.
    """
    sql = load_queries(Path(__file__).with_suffix(".sql"))
    id_ = None if tenant is None else as_uuid(tenant)
    if owner is None and id_ is None:
        raise Invalid("without DATABASE_ADMIN_URL a tenant is known by its id", fix="Give --tenant ID.")
    try:
        async with await connect_primary(owner or application, fence, row_factory=dict_row) as connection:
            if owner is None:
                seen = of_scope(Scope(TenantId(id_ or ""), WorkspaceId("")))
                await connection.execute(*settings_query(seen))
            cursor = await connection.execute(sql["tenants"], {"tenant": tenant})
            tenants = [row["id"] for row in await cursor.fetchall()]
            if not tenants:
                raise NotFound(f"no tenant is called {tenant}", fix="See `aos tenants list`.")
            cursor = await connection.execute(sql["workspaces"], {"tenants": tenants, "workspace": workspace})
            found = await cursor.fetchall()
    except psycopg.OperationalError as error:
        raise classify_postgres_error(error) from error
    if not found:
        raise NotFound(f"no workspace is called {workspace}", fix="See `aos workspaces list`, or make one there.")
    if len(found) > 1:
        raise Invalid(f"several workspaces are called {workspace}", fix="Give --tenant, or the workspace's id.")
    return Scope.of_worker(TenantId(found[0]["tenant"]), WorkspaceId(found[0]["id"]))
