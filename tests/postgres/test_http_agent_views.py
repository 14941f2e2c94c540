"""What becomes of an agent's tool calls, and which documents it searches, as the console shows it."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from cluster.basics.scope import Role
from serve_apps.agents.approval import load_policy
from tests.fakes.http import Api, Office, make_parts, serve

LIST = """patterns:
  - {tool: calculator, decision: auto}
  - {tool: http_get, when: {url: ["https://a.example/*", "https://b.example/*"]}, decision: auto}
  - {tool: http_get, decision: ask, reason: Elsewhere.}
  - {kind: ssh, risk: read, when: {host: web1}, decision: ask}
  - {risk: destructive, decision: ask, reason: It is gone.}
"""


async def made(client: httpx.AsyncClient, **body: Any) -> str:
    answer = await client.post("/api/agents", json={"name": f"agent {uuid4().hex[:6]}", **body})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_the_rule_for_each_tool_is_what_the_list_says_from_top_to_bottom(
    app_dsn: str, office: Office, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text(LIST)
    async with serve(replace(make_parts(app_dsn, tmp_path), policy=load_policy(tmp_path / "own.yaml"))) as api:
        client = await api.sign_in(office.emails[Role.OPERATOR])
        agent = await made(client, config={"tools": ["calculator", "http_get"]})
        skills = (await client.get("/api/skills")).json()["items"]
        gone = next(one["name"] for one in skills if one["risk"] == "destructive")
        reads = next(one["name"] for one in skills if (one["type"], one["risk"]) == ("ssh", "read"))
        for name in (gone, reads):
            assert (await client.post(f"/api/agents/{agent}/skills", json={"name": name})).status_code == 200
        viewer = await api.sign_in(office.emails[Role.VIEWER])
        found = {one["tool"]: one for one in (await viewer.get(f"/api/agents/{agent}/rules")).json()["items"]}
    assert list(found)[:2] == ["calculator", "http_get"] and set(found) == {"calculator", "http_get", gone, reads}
    assert (found["calculator"]["decision"], found["calculator"]["source"]) == ("auto", "base")
    assert (found["http_get"]["decision"], found["http_get"]["reason"]) == ("ask", "Elsewhere.")
    assert found["http_get"]["conditions"] == [
        {"when": {"url": ["https://a.example/*", "https://b.example/*"]}, "decision": "auto", "reason": ""}
    ]
    assert (found[gone]["decision"], found[gone]["reason"], found[gone]["source"]) == ("ask", "It is gone.", "attached")
    assert found[reads]["decision"] == "refuse", "no entry holds for every call of it"
    assert found[reads]["conditions"][0]["when"] == {"host": ["web1"]}


async def test_internal_skills_are_no_tools_and_another_workspaces_agent_is_nobody(api: Api, office: Office) -> None:
    client = await api.sign_in(office.emails[Role.OPERATOR])
    agent = await made(client)
    await client.post("/api/skills", json={"name": "tone", "description": "How we speak.", "text": "Be brief."})
    await client.post(f"/api/agents/{agent}/skills", json={"name": "tone"})
    items = (await client.get(f"/api/agents/{agent}/rules")).json()["items"]
    assert "tone" not in {one["tool"] for one in items} and "search_knowledge" in {one["tool"] for one in items}
    for what in ("rules", "documents"):
        assert (await client.get(f"/api/agents/{uuid4()}/{what}")).status_code == 404


async def test_documents_of_an_agent_are_listed_by_name_and_so_are_those_it_lacks(api: Api, office: Office) -> None:
    client = await api.sign_in(office.emails[Role.OPERATOR])
    agent, ids = await made(client), {}
    for name in ("b.txt", "A%.txt", "c.txt"):
        sent = await client.post("/api/documents/upload", files={"file": (name, name.encode())})
        ids[name] = sent.json()["document_id"]
    links = {"agent_id": agent, "document_ids": [ids["b.txt"], ids["A%.txt"]]}
    assert (await client.post("/api/documents/links", json=links)).json()["changed"] == 2

    async def names(**query: Any) -> tuple[list[str], int]:
        body = (await client.get(f"/api/agents/{agent}/documents", params=query)).json()
        return [one["filename"] for one in body["items"]], body["total"]

    assert sorted((await names())[0]) == ["A%.txt", "b.txt"]
    assert await names(linked=False) == (["c.txt"], 1)
    assert await names(search="a%.T") == (["A%.txt"], 1), "signs of a pattern stand for themselves"
    assert await names(search="c.txt") == ([], 0)
    page, total = await names(skip=1, limit=1)
    assert (len(page), total) == (1, 2)
    developer = await api.sign_in(office.emails[Role.DEVELOPER])
    private = {"readers": "user:boss@x.example"}
    await client.post("/api/documents/upload", files={"file": ("secret.txt", b"s")}, data=private)
    seen = (await developer.get(f"/api/agents/{agent}/documents", params={"linked": False})).json()
    assert [one["filename"] for one in seen["items"]] == ["c.txt"], "readers are those of the document"


async def test_an_agent_that_wants_more_than_the_settings_allow_is_refused_with_the_cap(
    api: Api, operator: httpx.AsyncClient
) -> None:
    """EX-05, EX-10: a limit that would be cut down in silence is not taken."""
    for config, cap in (({"max_iterations": 11}, "10"), ({"timeout_seconds": 301}, "300")):
        refused = await operator.post("/api/agents", json={"name": "Eager", "config": config})
        assert (refused.status_code, refused.json()["code"]) == (422, "beyond_cap")
        assert cap in refused.json()["detail"] and "AOS_AGENTS_" in refused.json()["fix"]
    made = await operator.post("/api/agents", json={"name": "Eager", "config": {"max_iterations": 10}})
    changed = await operator.patch(f"/api/agents/{made.json()['id']}", json={"config": {"timeout_seconds": 4000}})
    assert (made.status_code, changed.status_code) == (201, 422)
