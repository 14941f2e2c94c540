"""Skills over HTTP: what ships, what is registered, what agents have, and what is written on the spot."""

from collections import Counter
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
from skills.framework.builtin import shipped_skills
from skills.sandbox.fence import Sandbox
from skills.sandbox.layers import IsolationLayer
from tests.fakes.ground import ground
from tests.fakes.http import Api, Office, make_parts, open_office, serve

CODE = 'def run(payload):\n return {"summary": payload["description"][:280]}\n'
SAID = {"name": "summarise_ticket", "type": "python_inline", "description": "Summarise a Jira ticket payload"}


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    # On a machine whose kernel forbids a layer the script still runs: what is tested here is not the wall.
    async with Sandbox(SandboxSettings(warm=0, untrusted_without=tuple(IsolationLayer))) as sandbox:
        on = ground(settings=SkillSettings(off=("shell",)), scripts=sandbox)
        async with serve(make_parts(app_dsn, tmp_path, ground=on)) as made:
            yield made


@pytest.fixture
async def client(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.OPERATOR])


@pytest.fixture
async def agent(client: httpx.AsyncClient) -> str:
    return str((await client.post("/api/agents", json={"name": "clerk"})).json()["id"])


def trail(admin_dsn: str) -> list[tuple[str, Any]]:
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute(
            "select action, detail from audit where action like 'skill.%' order by seq"
        ).fetchall()
    return [(str(action), detail) for action, detail in rows]


async def spot(client: httpx.AsyncClient, agent: str, kind: str = "universal-agents", **other: Any) -> httpx.Response:
    body = {**SAID, "code": CODE, "sandbox": True, **other}
    return await client.post(f"/api/{kind}/{agent}/skills:create_and_attach", json=body)


async def given(client: httpx.AsyncClient, agent: str) -> list[dict[str, Any]]:
    return list((await client.get(f"/api/agents/{agent}/skills")).json()["items"])


async def test_gw_07_the_list_says_what_there_is_and_counts_it(client: httpx.AsyncClient) -> None:
    """GW-07: shipped and registered, by type and category; nothing is claimed that is not there (X-33)."""
    await client.post("/api/skills", json={"name": "tone", "description": "How we speak.", "category": "Office/Style"})
    body = (await client.get("/api/skills")).json()
    assert [one["name"] for one in body["items"]] == [*(one.name for one in shipped_skills()), "tone"]
    counts = body["counts"]
    assert (counts["shipped"], counts["stored"], body["total"]) == (len(shipped_skills()), 1, len(shipped_skills()) + 1)
    assert counts["by_type"] == Counter(one["type"] for one in body["items"])
    assert counts["by_category"]["Office/Style"] == 1 and sum(counts["by_category"].values()) == body["total"]
    assert body["items"][-1]["origin"] == "registered" and body["items"][-1]["type"] == "internal"
    one = (await client.get("/api/skills/calculator")).json()
    assert (one["origin"], one["version"], len(one["versions"])) == ("shipped", 1, 1) and "sqrt" in one["versions"][0][
        "text"
    ]


async def test_a_skill_that_is_registered_again_with_other_content_is_another_version(
    client: httpx.AsyncClient, admin_dsn: str
) -> None:
    """SK-09: the same content makes no version, other content does, and the old one is kept."""
    body = {"name": "tone", "description": "How we speak.", "text": "Be brief."}
    answers = [await client.post("/api/skills", json=body) for _ in range(2)]
    answers.append(await client.post("/api/skills", json=body | {"text": "Be kind."}))
    answers.append(await client.post("/api/skills", json=body))
    assert [answer.status_code for answer in answers] == [201, 200, 201, 201]
    found = (await client.get("/api/skills/tone")).json()
    assert [(one["version"], one["text"]) for one in found["versions"]] == [
        (3, "Be brief."),
        (2, "Be kind."),
        (1, "Be brief."),
    ]
    assert [detail["version"] for action, detail in trail(admin_dsn) if action == "skill.register"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [
        ({"name": "no blank"}, 422, "invalid"),
        ({"name": "calculator"}, 409, "conflict"),
        ({"more": 1}, 422, "invalid"),
        ({"type": "telepathy"}, 422, "bad_manifest"),
        ({"type": "delegate"}, 422, "bad_manifest"),
        ({"type": "python"}, 422, "invalid"),
        ({"code": "x = 1"}, 422, "invalid"),
        ({"risk": "low"}, 422, "invalid"),
        ({"type": "shell_exec"}, 403, "skill_disabled"),
        ({"text": "x" * 60_000}, 422, "invalid"),
        ({"type": "python", "code": "def run(payload): return 1/0"}, 201, None),
        ({"type": "python", "code": "def run(payload"}, 422, "sample_failed"),
        ({"type": "python", "code": "x = 1"}, 422, "sample_failed"),
        ({"type": "python", "code": CODE, "options": {"network": True}}, 422, "bad_manifest"),
        ({"parameters": {"type": "object", "properties": {"a": "\0"}}}, 422, "invalid"),
        ({"parameters": {"type": "array"}}, 422, "invalid"),
        ({"parameters": {}}, 422, "invalid"),
        ({"parameters": {"type": "object", "properties": {"a": {"type": "odd"}}}}, 422, "invalid"),
        ({"parameters": {"type": "object", "properties": {"a": {"$ref": "http://169.254.169.254/"}}}}, 422, "invalid"),
        ({"parameters": {"type": "object", "allOf": [{"$ref": "#"}]}}, 422, "invalid"),
        ({"parameters": {"type": "object", "properties": {"$ref": {"type": "string"}}}}, 201, None),
        ({"parameters": {"type": "object", "description": "x" * 20_000}}, 413, "too_large"),
    ],
)
async def test_what_cannot_be_a_skill_is_refused_by_name(
    client: httpx.AsyncClient, wrong: dict[str, Any], status: int, code: str | None
) -> None:
    answer = await client.post("/api/skills", json={"name": "s", "description": "d", **wrong})
    assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text
    total = (await client.get("/api/skills")).json()["counts"]["stored"]
    assert total == (1 if status == 201 else 0)


async def test_sk_09_one_call_writes_tries_and_attaches_a_script(
    client: httpx.AsyncClient, agent: str, admin_dsn: str
) -> None:
    """SK-09: the body of S0 as it is; `sandbox: false` changes nothing; `run` tells its parameters."""
    answer = await spot(client, agent, sandbox=False)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["created"], body["attached"], body["sandbox"], body["tried"]) == (True, True, True, "loaded")
    assert body["skill"]["type"] == "python" and body["skill"]["sandbox"] and body["skill"]["risk"] == "read"
    assert body["skill"]["parameters"] == {
        "type": "object",
        "properties": {"description": {}},
        "required": ["description"],
    }
    (one,) = await given(client, agent)
    assert (one["name"], one["version"], one["pinned"]) == ("summarise_ticket", 1, False)
    ((action, detail),) = trail(admin_dsn)
    assert (action, detail["attached"]) == ("skill.register", True), "one request, one line"
    assert CODE not in str(trail(admin_dsn))


async def test_sk_09_it_is_idempotent_by_name_and_new_code_is_a_new_version(
    client: httpx.AsyncClient, agent: str
) -> None:
    """SK-09, X-13: both paths are one; the version that was is kept."""
    await spot(client, agent)
    again = (await spot(client, agent, "agents")).json()
    assert (again["created"], again["attached"], again["skill"]["version"]) == (False, False, 1)
    other = CODE.replace("280", "100")
    newer = (await spot(client, agent, code=other, sample_payload={"description": "x" * 300})).json()
    assert (newer["created"], newer["attached"], newer["skill"]["version"]) == (True, False, 2)
    assert (newer["tried"], newer["sample_result"]) == ("sample", {"summary": "x" * 100})
    versions = (await client.get("/api/skills/summarise_ticket")).json()["versions"]
    assert [one["code"] for one in versions] == [other, CODE]
    assert [one["version"] for one in await given(client, agent)] == [2], "it follows the newest"


@pytest.mark.parametrize(
    ("code", "sample", "words"),
    [
        (CODE, {}, "KeyError"),
        ("def run(payload):\n    return 7\n", {}, ""),
        ("import os\n" + CODE, None, "os"),
        ("def run(payload:\n", None, "SyntaxError"),
        ("def go(payload):\n    return {}\n", None, "run"),
        ("def run(payload):\n    while True: pass\n", {}, "script_timeout"),
    ],
)
async def test_sk_09_a_script_that_fails_its_sample_is_not_kept(
    client: httpx.AsyncClient, agent: str, admin_dsn: str, code: str, sample: dict[str, Any] | None, words: str
) -> None:
    """SK-09: 422 with the script's own error, nothing is registered or attached, and the trail says that it ran."""
    answer = await spot(client, agent, code=code, sample_payload=sample, timeout=1)
    assert (answer.status_code, answer.json()["code"]) == (422, "sample_failed"), answer.text
    assert words in answer.json()["detail"]
    assert await given(client, agent) == []
    assert (await client.get("/api/skills/summarise_ticket")).status_code == 404
    with psycopg.connect(admin_dsn) as admin:
        lines = admin.execute("select outcome, detail ->> 'code' from audit where action = 'skill.try'").fetchall()
    assert lines == [("failed", "sample_failed")]


async def test_a_skill_is_attached_pinned_and_taken_away(client: httpx.AsyncClient, agent: str, admin_dsn: str) -> None:
    """GW-07, MT-03: from the next turn on; an agent has what it was given and nothing else."""
    for text in ("Be brief.", "Be kind."):
        await client.post("/api/skills", json={"name": "tone", "description": "How we speak.", "text": text})
    path = f"/api/universal-agents/{agent}/skills"
    assert (await client.get(path)).json() == {
        "base": [
            "search_knowledge",
            "semantic_search",
            "search_graph",
            "query_tables",
            "calculator",
            "get_time",
            "http_get",
            "delegate",
            "request_user_input",
        ],
        "items": [],
        "total": 0,
    }
    one = (await client.post(path, json={"name": "tone", "version": 1})).json()["items"]
    assert [(it["name"], it["version"], it["pinned"], it["type"]) for it in one] == [("tone", 1, True, "internal")]
    await client.post(path, json={"name": "tone", "version": 1})
    assert (await client.post(path, json={"name": "tone"})).json()["items"][0]["version"] == 2
    for name, version, status in (
        ("tone", 3, 404),
        ("nothing", None, 404),
        ("calculator", None, 409),
        ("a b", None, 422),
    ):
        answer = await client.post(path, json={"name": name, "version": version})
        assert answer.status_code == status, answer.text
    assert (await client.delete(f"{path}/tone")).status_code == 204
    assert (await client.delete(f"{path}/tone")).status_code == 404
    assert await given(client, agent) == []
    assert [action for action, _ in trail(admin_dsn)][2:] == ["skill.attach", "skill.attach", "skill.detach"]


async def test_who_only_reads_may_look_and_not_change(api: Api, office: Office, agent: str) -> None:
    for role in (Role.VIEWER, Role.DEVELOPER):
        reader = await api.sign_in(office.emails[role])
        assert (await reader.get("/api/skills")).status_code == 200
        assert (await reader.get(f"/api/agents/{agent}/skills")).status_code == 200
        assert (await reader.post("/api/skills", json={"name": "s", "description": "d"})).status_code == 403
        assert (await reader.post(f"/api/agents/{agent}/skills", json={"name": "s"})).status_code == 403
        assert (await spot(reader, agent)).status_code == 403
        assert (await reader.delete(f"/api/agents/{agent}/skills/s")).status_code == 403


async def test_mt_02_a_skill_of_another_workspace_is_none(
    api: Api, client: httpx.AsyncClient, agent: str, admin_dsn: str
) -> None:
    """MT-02, MT-03: neither seen nor attached, and the same name may be taken there by something else."""
    await spot(client, agent)
    stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    assert (await stranger.get("/api/skills")).json()["counts"]["stored"] == 0
    assert (await stranger.get("/api/skills/summarise_ticket")).status_code == 404
    assert (await spot(stranger, agent)).status_code == 404
    own = (await stranger.post("/api/agents", json={"name": "own"})).json()["id"]
    assert (await stranger.post(f"/api/agents/{own}/skills", json={"name": "summarise_ticket"})).status_code == 404
    made = await spot(stranger, own, code="def run(payload):\n    return {}\n")
    assert made.json()["skill"]["version"] == 1
    assert (await client.get("/api/skills/summarise_ticket")).json()["versions"][0]["code"] == CODE
    assert (await client.get(f"/api/agents/{uuid4()}/skills")).status_code == 404


async def test_an_agent_has_so_many_skills_and_no_more(
    client: httpx.AsyncClient, agent: str, office: Office, admin_dsn: str
) -> None:
    await client.post("/api/skills", json={"name": "one_more", "description": "d"})
    with psycopg.connect(admin_dsn) as connection:
        for number in range(64):
            connection.execute(
                "insert into agent_skills (agent_id, skill, tenant_id, workspace_id) values (%s, %s, %s, %s)",
                (agent, f"s{number}", office.scope.tenant, office.scope.workspace),
            )
    answer = await client.post(f"/api/agents/{agent}/skills", json={"name": "one_more"})
    assert answer.status_code == 409 and "64" in answer.json()["detail"]
    assert {one["version"] for one in await given(client, agent)} == {None}, "what is gone is shown as gone"


async def test_nothing_is_tried_where_nothing_can_be_fenced_in(api: Api, client: httpx.AsyncClient, agent: str) -> None:
    """SK-09: without a sandbox there is no script, whoever asks."""
    async with Sandbox(SandboxSettings(warm=0)) as sandbox:
        await sandbox.aclose()
        api.app.state.parts = replace(api.parts, ground=replace(api.parts.ground, scripts=sandbox))
        answer = await spot(client, agent)
    assert (answer.status_code, answer.json()["code"]) == (501, "sandbox_missing")
    assert await given(client, agent) == []


async def test_a_registered_skill_can_be_removed_but_not_from_under_an_agent(
    client: httpx.AsyncClient, agent: str, api: Api, office: Office, admin_dsn: str
) -> None:
    assert (await spot(client, agent)).status_code == 200
    path = "/api/skills/summarise_ticket"
    held = await client.delete(path)
    assert held.status_code == 409 and "clerk" in held.json()["detail"]
    assert (await client.get(path)).status_code == 200
    assert (await client.delete(path, params={"detach": True})).status_code == 204
    assert (await client.get(path)).status_code == 404
    assert [one["name"] for one in await given(client, agent)] == []
    assert trail(admin_dsn)[-1] == ("skill.remove", {"skill": "summarise_ticket", "agents": [agent]})
    assert (await client.delete(path)).status_code == 404


async def test_what_ships_and_what_others_wrote_cannot_be_removed(
    client: httpx.AsyncClient, agent: str, api: Api, office: Office
) -> None:
    assert (await spot(client, agent)).status_code == 200
    assert (await client.delete("/api/skills/calculator")).status_code == 409
    reader = await api.sign_in(office.emails[Role.VIEWER])
    assert (await reader.delete("/api/skills/summarise_ticket", params={"detach": True})).status_code == 403
    assert (await client.get("/api/skills/summarise_ticket")).status_code == 200
