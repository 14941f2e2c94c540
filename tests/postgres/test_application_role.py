"""An external Postgres: who the application connects as is bound by row-level security, and has its rights."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from cluster import doctor, supervisor
from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.basics.scope import Scope
from cluster.console.findings import StatusColour
from cluster.state.db.migrate import let_in
from cluster.state.db.postgres import Database
from configs.sections import Settings
from configs.settings import load_settings
from tests.fakes.http import open_office

NAME = 'site "app"; role'  # what has to be quoted


@pytest.fixture
def role(admin_dsn: str) -> Iterator[str]:
    """A role of the site's own, which may only sign in; roles belong to the whole server, so it goes again."""
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        name = sql.Identifier(NAME)
        connection.execute(sql.SQL("create role {} login nosuperuser nobypassrls noinherit").format(name))
        try:
            yield NAME
        finally:
            connection.execute(sql.SQL("reassign owned by {} to current_user").format(name))
            connection.execute(sql.SQL("drop role {}").format(name))


def alter(admin_dsn: str, statement: str) -> None:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(NAME)))  # type: ignore[arg-type]


async def names_seen(dsn: str, scope: Scope) -> list[str]:
    """The tenants that a query without any condition finds."""
    database = Database(dsn, size=1)
    await database.open()
    try:
        return [row["name"] for row in await database.read(scope, "select name from tenants order by name")]
    finally:
        await database.close()


def walls(settings: Settings) -> tuple[StatusColour, str]:
    (found,) = (one for one in doctor.run_probe("postgres", settings) if one.part == "row-level security")
    return found.colour, found.detail


def test_a_superuser_is_refused_before_anything_runs(
    admin_dsn: str, app_dsn: str, redis_url: str, tmp_path: Path
) -> None:
    """The doctor says the same of it."""
    servers = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_ADMIN_URL": admin_dsn, "REDIS_URL": redis_url}
    settings = load_settings({"DATABASE_URL": admin_dsn, **servers})
    with pytest.raises(InvalidSettings, match=r"\(DATABASE_URL, POSTGRES_USER\): row-level security") as refused:
        supervisor.prepare_state(settings, lambda line: None)
    assert "aos_app" in refused.value.hint
    assert not list(tmp_path.glob("first-password*")), "nobody was made an administrator"
    assert walls(settings) == (StatusColour.RED, "the application's role is exempt from row-level security")
    assert walls(load_settings({"DATABASE_URL": app_dsn, **servers}))[0] is StatusColour.GREEN


async def test_one_who_may_bypass_the_walls_is_refused_although_it_is_a_member(admin_dsn: str, role: str) -> None:
    dsn = make_conninfo(admin_dsn, user=role)
    alter(admin_dsn, "grant aos_app to {}")
    alter(admin_dsn, "alter role {} bypassrls inherit")
    with pytest.raises(InvalidSettings, match="does not bind"):
        await let_in(admin_dsn, dsn, None)


async def test_another_role_is_let_in_and_bound(admin_dsn: str, role: str) -> None:
    """Also one that inherits nothing by itself, and one that owns the tables."""
    here, there = open_office(admin_dsn), open_office(admin_dsn)
    dsn = make_conninfo(admin_dsn, user=role)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await names_seen(dsn, here.scope)
    for _ in range(2):
        await let_in(admin_dsn, dsn, None)
    assert await names_seen(dsn, here.scope) == [here.name]
    assert await names_seen(dsn, there.scope) == [there.name]
    alter(admin_dsn, "alter table tenants owner to {}")
    await let_in(admin_dsn, dsn, None)
    assert await names_seen(dsn, here.scope) == [here.name]
    with psycopg.connect(admin_dsn) as connection:
        open_to_owners = connection.execute("select 1 from pg_class where relrowsecurity and not relforcerowsecurity")
        assert open_to_owners.fetchall() == []


async def test_an_owner_who_may_not_let_it_in_says_what_a_superuser_has_to_do(admin_dsn: str, role: str) -> None:
    dsn = make_conninfo(admin_dsn, user=role)
    with pytest.raises(InvalidSettings, match="the owner cannot give them") as refused:
        await let_in(dsn, dsn, None)
    assert refused.value.hint == 'As a superuser: grant "aos_app" to "site ""app""; role";'


async def test_an_application_that_cannot_connect_is_told_where_to_look(admin_dsn: str) -> None:
    with pytest.raises(Unavailable, match="nobody_here") as refused:
        await let_in(admin_dsn, make_conninfo(admin_dsn, user="nobody_here"), None)
    assert "DATABASE_URL" in refused.value.hint
