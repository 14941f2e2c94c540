"""Every route that changes something, called once: exactly one line in the audit trail for each."""

from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from pathlib import Path

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.route_calls import CALLS, LINES_ELSEWHERE, LONG, READS, Call, CallRoom
from tests.postgres.test_isolation import Owned, addressed, furnish

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
HELP = "give it a request in CALLS of tests/fakes/route_calls.py, or a reason in READS or LINES_ELSEWHERE"


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "a.txt").write_text("A note of the harbour.")
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


async def called(api: Api, dsn: str, method: str, path: str) -> tuple[httpx.Response, list[str]]:
    """The answer of a route in a workspace of its own, and what the trail has of it."""
    office = open_office(dsn)
    owned = await furnish(api, dsn, office)
    admin = await api.sign_in(office.emails[Role.ADMIN])
    key = f"{method} {path}"
    given = CALLS.get(key, Call())
    if not isinstance(given, Call):
        given = await given(CallRoom(api, admin, office, dsn, _ids(owned)))
    for name, value in given.values.items():
        path = path.replace(f"{{{name}}}", value)
    before = len(trail(dsn, office))
    client = api.client if given.nobody else admin
    sent = {"files": given.files} if given.files else {"json": given.body}
    answer = await client.request(method, addressed(path, owned), params=given.params, **sent)
    return answer, trail(dsn, office)[before:]


def _ids(owned: Owned) -> dict[str, str]:
    known = {f"{name}_id": value for name, value in asdict(owned).items()}
    return known | {"golden_run_id": owned.golden_run, "set_id": owned.golden}


def trail(dsn: str, office: Office) -> list[str]:
    with psycopg.connect(dsn) as owner:
        rows = owner.execute("select action from audit where tenant_id = %s order by seq", [office.scope.tenant])
        return [str(row[0]) for row in rows.fetchall()]


async def test_at_01_every_route_that_changes_something_writes_exactly_one_line(
    api: Api, admin_dsn: str, record_property: Callable[[str, object], None]
) -> None:
    """AT-01: walked over the application's own routes; a new one fails until it has a request or a reason."""
    wrong, right, longer = [], 0, 0
    named = [*CALLS, *READS, *LINES_ELSEWHERE]
    routes = sorted(route for route in api.app.state.permissions if route[0] in CHANGING)
    known = {f"{method} {path}" for method, path in routes}
    assert set(named) <= known, f"there is no such route: {set(named) - known}"
    assert len(set(named)) == len(named), "a route stands in one place"
    for method, path in routes:
        key = f"{method} {path}"
        if key in READS or key in LINES_ELSEWHERE:
            continue
        answer, lines = await called(api, admin_dsn, method, path)
        if not answer.is_success:
            wrong.append(f"{key}: {answer.status_code} {answer.text[:300]}; {HELP}")
        elif len(lines) != 1 and lines != LONG.get(key):
            wrong.append(f"{key}: {len(lines)} lines {lines}; it is to write exactly one")
        else:
            right += len(lines) == 1
            longer += len(lines) > 1
    assert wrong == [], "\n".join(wrong)
    changing = right + longer + len(LINES_ELSEWHERE)
    others = f"{changing - right} write more, per object or as their run ends"
    record_property(
        "mutating routes with exactly one line", f"{right} of {changing} routes write exactly one; {others}"
    )
