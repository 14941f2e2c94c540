"""Scheduled jobs over HTTP: who may have what done by the clock, and with whose rights."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.scope import Role
from tests.fakes.http import Api, Office, make_parts, open_office, serve

JOBS = "/api/scheduler/jobs"
MORNING = {"name": "morning", "agent": "keeper", "cron": "0 6 * * 1-5", "payload": {"message": "count the gauges"}}


@pytest.fixture
def woken() -> list[str]:
    return []


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, woken: list[str]) -> AsyncIterator[Api]:
    async with serve(replace(make_parts(app_dsn, tmp_path), wake=lambda: woken.append("now"))) as made:
        yield made


@pytest.fixture
async def office(api: Api, admin_dsn: str) -> Office:
    made = open_office(admin_dsn)
    operator = await api.sign_in(made.emails[Role.OPERATOR])
    assert (await operator.post("/api/agents", json={"name": "keeper"})).status_code == 201
    return made


async def test_sh_01_a_job_is_kept_listed_changed_run_and_taken_away(
    api: Api, office: Office, woken: list[str]
) -> None:
    """SH-01, GW-17: GET /api/scheduler/jobs lists what is in Postgres; each change is in the audit trail."""
    client = await api.sign_in(office.emails[Role.ADMIN])
    made = await client.post(JOBS, json={**MORNING, "timezone": "Europe/Berlin"})
    assert made.status_code == 201, made.text
    one = f"{JOBS}/{made.json()['id']}"
    assert made.json()["agent"] == "keeper" and made.json()["next_at"].endswith((":00:00Z", ":00:00+00:00"))
    assert (await client.post(JOBS, json=MORNING)).status_code == 409
    listed = (await client.get(JOBS)).json()
    assert [(job["name"], job["payload"]) for job in listed["items"]] == [("morning", {"message": "count the gauges"})]
    off = (await client.patch(one, json={"enabled": False, "name": "later"})).json()
    assert off["name"] == "later" and off["next_at"] is None
    asked = await client.post(f"{one}/run")
    assert asked.status_code == 202 and woken == ["now"]
    assert (await client.get(one.replace(made.json()["id"], made.json()["id"]) + "/runs")).json()["total"] == 0
    assert (await client.delete(one)).status_code == 204
    assert (await client.get(f"{one}/runs")).status_code == 404 and (await client.get(JOBS)).json()["total"] == 0
    trail = (await client.get("/api/audit")).json()
    told = {line["action"] for line in trail["items"]}
    assert {"schedule.add", "schedule.change", "schedule.run", "schedule.remove"} <= told


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"cron": "0 6 * *"}, 422),
        ({"cron": "*/0 * * * *"}, 422),
        ({"timezone": "Mars/Olympus"}, 422),
        ({"payload": {}}, 422),
        ({"payload": {"message": "a", "shell": "rm"}}, 422),
        ({"action": "shell"}, 422),
        ({"action": "academy"}, 422),
        ({"agent": "nobody"}, 404),
    ],
)
async def test_what_could_never_run_is_refused(api: Api, office: Office, wrong: dict[str, Any], status: int) -> None:
    client = await api.sign_in(office.emails[Role.OPERATOR])
    assert (await client.post(JOBS, json=MORNING | wrong)).status_code == status
    assert (await client.get(JOBS)).json()["total"] == 0


async def test_sh_01_nobody_runs_or_rewrites_what_runs_as_somebody_else(api: Api, office: Office) -> None:
    """SH-01: an operator may switch it off and take it away; its text is for its owner and for administrators."""
    owner = await api.sign_in(office.emails[Role.DEVELOPER])
    one = f"{JOBS}/{(await owner.post(JOBS, json=MORNING)).json()['id']}"
    assert (
        await owner.post(JOBS, json={"name": "x", "agent": "keeper", "cron": "0 0 * * *", "action": "academy"})
    ).status_code == 403
    for role in (Role.OPERATOR, Role.ADMIN):
        other = await api.sign_in(office.emails[role])
        assert (await other.post(f"{one}/run")).status_code == 403
        assert (await other.patch(one, json={"payload": {"message": "as you"}})).status_code == 403
        assert (await other.patch(one, json={"enabled": True})).status_code == 403
        assert (await other.patch(one, json={"enabled": False})).status_code == 200
        seen = (await other.get(JOBS)).json()["items"][0]["payload"]
        assert (seen is None) == (role is Role.OPERATOR)
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert (await viewer.delete(one)).status_code == 403
    operator = await api.sign_in(office.emails[Role.OPERATOR])
    assert (await operator.delete(one)).status_code == 204


async def test_a_key_with_fewer_rights_leaves_a_job_with_its_own(api: Api, office: Office) -> None:
    """What an administrator's weak key writes does not run as an administrator."""
    owner = await api.sign_in(office.emails[Role.ADMIN])
    made = (await owner.post(JOBS, json=MORNING)).json()
    secret = (await owner.post("/api/api-keys", json={"name": "k", "role": "developer"})).json()
    key = api.bearing(secret["key"])
    assert made["role"] == "admin"
    assert (await key.post(f"{JOBS}/{made['id']}/run")).status_code == 403
    changed = await key.patch(f"{JOBS}/{made['id']}", json={"payload": {"message": "other"}})
    assert changed.status_code == 200 and changed.json()["role"] == "developer"
    again = await owner.patch(f"{JOBS}/{made['id']}", json={"cron": "0 7 * * *"})
    assert again.json()["role"] == "developer"
