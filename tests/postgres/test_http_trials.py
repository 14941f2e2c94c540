"""Skills tried by a person: what reads runs behind the fence, what changes something is refused and put on record."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from configs.sections_skills import SandboxSettings, SkillSettings
from serve_apps.agents.approval import load_policy
from skills.sandbox.fence import Sandbox
from skills.sandbox.layers import IsolationLayer
from tests.fakes.ground import ground
from tests.fakes.http import Api, Office, make_parts, serve

SCRIPT = 'def run(payload):\n    return {"twice": payload["n"] * 2}\n'


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with Sandbox(SandboxSettings(warm=0, untrusted_without=tuple(IsolationLayer))) as sandbox:
        on = ground(settings=SkillSettings(off=()), scripts=sandbox)
        async with serve(make_parts(app_dsn, tmp_path, ground=on)) as made:
            yield made


@pytest.fixture
async def client(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.OPERATOR])


async def call(client: httpx.AsyncClient, skill: str, **arguments: Any) -> httpx.Response:
    return await client.post(f"/api/skills/{skill}:test", json={"arguments": arguments})


def trail(admin_dsn: str) -> list[tuple[str, str, str, Any]]:
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute(
            "select action, object, outcome, detail from audit where action like 'skill.%' order by seq"
        ).fetchall()
    return [(str(action), str(object_), str(outcome), detail) for action, object_, outcome, detail in rows]


async def test_a_skill_that_reads_is_called_and_the_trail_has_the_call_without_its_arguments(
    client: httpx.AsyncClient, admin_dsn: str
) -> None:
    answer = await call(client, "calculator", expression="6 * 7771")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["skill"], body["version"]) == ("calculator", 1) and "46626" in str(body["result"])
    ((action, skill, outcome, detail),) = trail(admin_dsn)
    assert (action, skill, outcome, detail["code"], detail["agent"]) == ("skill.call", "calculator", "done", "ok", None)
    assert "7771" not in str(detail)


@pytest.mark.parametrize(("skill", "risk"), [("slack_post", "write"), ("docker_prune", "destructive")])
async def test_a_skill_that_changes_something_is_refused_with_the_reason(
    client: httpx.AsyncClient, admin_dsn: str, skill: str, risk: str
) -> None:
    answer = await call(client, skill)
    assert (answer.status_code, answer.json()["code"]) == (409, "needs_approval")
    assert risk in answer.json()["detail"] and "chat" in answer.json()["fix"]
    assert [entry[:3] for entry in trail(admin_dsn)] == [("skill.test", skill, "denied")]


async def test_arguments_are_held_to_the_schema(client: httpx.AsyncClient) -> None:
    answer = await call(client, "calculator", expression=7)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_arguments")
    assert answer.json()["detail"].startswith("expression: ")
    assert (await call(client, "calculator")).status_code == 422


async def test_what_the_approval_list_refuses_is_refused_here_too(
    app_dsn: str, admin_dsn: str, office: Office, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text(
        "patterns: [{tool: calculator, decision: refuse, reason: Count yourself.}, {tool: '*', decision: auto}]"
    )
    parts = replace(make_parts(app_dsn, tmp_path), policy=load_policy(tmp_path / "own.yaml"))
    async with serve(parts) as api:
        client = await api.sign_in(office.emails[Role.OPERATOR])
        answer = await call(client, "calculator", expression="1 + 1")
        assert (answer.status_code, answer.json()["code"]) == (403, "refused")
        assert answer.json()["detail"] == "Count yourself."
        assert (await call(client, "get_time")).status_code == 200
    assert [(action, outcome) for action, _, outcome, _ in trail(admin_dsn)] == [
        ("skill.test", "denied"),
        ("skill.call", "done"),
    ]


async def test_a_skill_that_is_for_others_or_nowhere_is_not_called(client: httpx.AsyncClient, admin_dsn: str) -> None:
    body = {"name": "for_admins", "description": "d", "type": "python", "code": SCRIPT, "permissions": ["admin"]}
    assert (await client.post("/api/skills", json=body)).status_code == 201
    answer = await call(client, "for_admins", n=1)
    assert (answer.status_code, answer.json()["code"]) == (403, "skill_not_permitted")
    assert trail(admin_dsn)[-1][:3] == ("skill.call", "for_admins", "denied")
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute("select action from audit where outcome = 'denied'").fetchall()
    assert rows == [("skill.call",)], "one refusal, one row"
    assert (await call(client, "no_such_skill")).status_code == 404
    somebody = {"arguments": {"query": "q"}, "agent_id": str(uuid4())}
    assert (await client.post("/api/skills/search_knowledge:test", json=somebody)).status_code == 404


async def test_au_04_developers_try_scripts_and_only_operators_call_skills(api: Api, office: Office) -> None:
    """AU-04: Developer: API and code execution, in the sandbox and with nobody's credentials."""
    body = {"name": "t", "description": "d", "code": SCRIPT, "sample_payload": {"n": 1}}
    for role, status in ((Role.VIEWER, 403), (Role.DEVELOPER, 200)):
        client = await api.sign_in(office.emails[role])
        assert (await call(client, "calculator", expression="1")).status_code == 403
        assert (await client.post("/api/skills/python:try", json=body)).status_code == status
        kept = await client.post("/api/skills", json={**body, "type": "python"})
        assert kept.status_code == 403, "what works is kept by an operator"


async def test_a_script_is_tried_before_it_is_kept(client: httpx.AsyncClient, admin_dsn: str) -> None:
    body = {"name": "twice", "description": "Doubles.", "code": SCRIPT, "sample_payload": {"n": 21}}
    answer = await client.post("/api/skills/python:try", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "tried": "sample",
        "sample_result": {"twice": 42},
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }
    assert (await client.get("/api/skills/twice")).status_code == 404, "nothing was kept"
    broken = await client.post("/api/skills/python:try", json=body | {"sample_payload": {"m": 1}})
    assert (broken.status_code, broken.json()["code"]) == (422, "sample_failed") and "KeyError" in broken.json()[
        "detail"
    ]
    assert trail(admin_dsn) == [
        ("skill.try", "twice", "done", {"tried": "sample"}),
        ("skill.try", "twice", "failed", {"code": "sample_failed"}),
    ]


async def test_a_command_that_only_says_that_it_reads_needs_its_approval(
    client: httpx.AsyncClient, admin_dsn: str
) -> None:
    """The list asks a person for it, with its arguments; nobody can tell from outside what a command does."""
    body = {
        "name": "unit_restart",
        "description": "d",
        "type": "ssh",
        "credential": "ssh",
        "options": {"command": ["systemctl", "restart", "web"]},
    }
    made = await client.post("/api/skills", json=body)
    assert made.status_code == 201, made.text
    answer = await call(client, "unit_restart")
    assert (answer.status_code, answer.json()["code"]) == (409, "needs_approval"), answer.text
    assert trail(admin_dsn)[-1][:3] == ("skill.test", "unit_restart", "denied")
