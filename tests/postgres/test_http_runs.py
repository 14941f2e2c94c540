"""Runs, approvals and agents over HTTP: what a turn left behind, who may see and decide it, and how agents change."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role, Scope, UserId
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.work.run_queries import RunQueries
from cluster.state.work.runs import RunLedger
from serve_apps.agents.events import Event
from serve_apps.agents.turn_ports import IncomingMessage, RunId
from serve_apps.http.streams.replay_slots import FewReplays
from serve_apps.http.streams.sse import StreamPacing
from skills.framework.frozen_skill import freeze_skill
from skills.framework.manifest import CredentialType, Kind, Manifest
from tests.fakes.frames import frames
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.orchestrator import ScriptedReplays, Toolbox
from tests.fakes.runs import Outside, Stage, acting


@dataclass
class Acting:
    """An orchestrator over the real ledger of runs: its agent acts once, after somebody approved."""

    stage: Stage | None = None
    outside: Outside = field(default_factory=Outside)
    begun: list[Any] = field(default_factory=list)

    async def process(self, scope: Scope, incoming: IncomingMessage) -> AsyncIterator[Event]:
        assert self.stage is not None
        turn = await self.stage.begin(incoming.message, scope=scope)
        self.begun.append(turn)
        runner = self.stage.runner(acting(self.outside))
        async for event in runner.run(turn, await runner.claim(turn)):
            yield event

    async def resume(self, scope: Scope, run: RunId) -> AsyncIterator[Event]:
        assert self.stage is not None
        (turn,) = (one for one in self.begun if one.run == run)
        runner = self.stage.runner(acting(self.outside))
        async for event in runner.run(turn, await runner.claim(turn)):
            yield event

    async def cancel(self, scope: Scope, run: RunId) -> None:
        assert self.stage is not None
        async with self.stage.database.transaction(scope) as tx:
            await self.stage.runs.cancel(tx, scope, run)


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


@pytest.fixture
def agents() -> Acting:
    return Acting()


@dataclass
class Held(ScriptedReplays):
    """A replay ends when it may."""

    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def replay(
        self, scope: Scope, run: str, *, model: str | None = None, prompt: str | None = None
    ) -> Mapping[str, Any]:
        await self.free.wait()
        return await super().replay(scope, run, model=model, prompt=prompt)


@pytest.fixture
def replays() -> Held:
    made = Held()
    made.free.set()
    return made


@pytest.fixture
def held(replays: Held) -> asyncio.Event:
    return replays.free


@pytest.fixture
async def api(
    app_dsn: str, tmp_path: Path, agents: Acting, replays: Held, admin_dsn: str, office: Office
) -> AsyncIterator[Api]:
    parts = make_parts(
        app_dsn, tmp_path, orchestrator=agents, replays=FewReplays(replays), pace=StreamPacing(0.02, 8, 0.2)
    )
    async with serve(parts) as made:
        agents.stage = _stage(made, office, admin_dsn)
        yield made


def _stage(api: Api, office: Office, admin_dsn: str) -> Stage:
    """The office's own agent and a developer's session."""
    database, audit = api.parts.database, AuditLog(api.parts.database)
    tenant, workspace = office.scope.tenant, office.scope.workspace
    with psycopg.connect(admin_dsn) as connection:
        user = _one(connection.execute("select id from users where email = %s", (office.emails[Role.DEVELOPER],)))
        agent = _one(
            connection.execute(
                "insert into agents (tenant_id, workspace_id, name) values (%s, %s, 'keeper') returning id",
                (tenant, workspace),
            )
        )
        session = _one(
            connection.execute(
                "insert into sessions (tenant_id, workspace_id, agent_id, user_id)"
                " values (%s, %s, %s, %s) returning id",
                (tenant, workspace, agent, user),
            )
        )
    scope = Scope(tenant, workspace, (), UserId(user), Role.DEVELOPER)
    return Stage(
        database,
        RunLedger(database),
        ApprovalStore(database, audit),
        RunQueries(database),
        audit,
        scope,
        agent,
        session,
    )


def _one(cursor: psycopg.Cursor[Any]) -> str:
    row = cursor.fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture
async def developer(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.DEVELOPER])


@pytest.fixture
async def operator(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.OPERATOR])


async def asked(developer: httpx.AsyncClient, message: str = "b") -> dict[str, Any]:
    """A turn that waits for a decision."""
    reply = (await developer.post("/api/chat/keeper", json={"message": message})).json()
    assert reply["requires_approval"] is True, reply
    return reply  # type: ignore[no-any-return]


async def decided(agents: Acting, run: str) -> None:
    """The decision resumes the run in the background."""
    assert agents.stage is not None
    (turn,) = (one for one in agents.begun if one.run == run)
    async with agents.stage.sweeping(acting(agents.outside)):
        await agents.stage.until(turn, "completed", "failed")


async def test_gw_21_an_operator_approves_and_the_turn_goes_on(
    developer: httpx.AsyncClient, operator: httpx.AsyncClient, agents: Acting, admin_dsn: str
) -> None:
    """GW-21, HI-05: listed, shown with its digest, approved by a call, executed once; a second decision is late."""
    reply = await asked(developer)
    id_, run = reply["approval_request"]["id"], reply["run_id"]
    listed = (await operator.get("/api/approvals", params={"state": "pending"})).json()
    recovered = (await operator.get("/api/v1/agents/approvals/pending")).json()
    assert listed == recovered and listed["total"] == 1
    (row,) = listed["items"]
    assert (row["id"], row["tool"], row["arguments"], row["state"]) == (id_, "act", {"to": "b"}, "pending")
    assert len(row["digest"]) == 64 and row["expires_at"] > row["created_at"]
    assert (await developer.get(f"/api/approvals/{id_}")).json()["id"] == id_, "one's own"
    assert (await developer.post(f"/api/approvals/{id_}", json={"decision": "approve"})).status_code == 403
    done = await operator.post(f"/api/approvals/{id_}", json={"decision": "approve", "notes": "go"})
    assert (done.json()["state"], done.json()["notes"]) == ("approved", "go")
    again = await operator.post(f"/api/approvals/{id_}", json={"decision": "reject"})
    assert again.status_code == 409
    await decided(agents, run)
    assert [arguments for _, _, arguments in agents.outside.acted] == [{"to": "b"}]
    assert (await developer.get(f"/api/runs/{run}")).json()["state"] == "completed"
    with psycopg.connect(admin_dsn) as connection:
        trail = connection.execute("select actor, action from audit where object = %s", (id_,)).fetchall()
    assert [action for _, action in trail] == ["approval.approved"]


async def test_gw_21_the_recovered_paths_decide_too(
    developer: httpx.AsyncClient, operator: httpx.AsyncClient, agents: Acting, office: Office
) -> None:
    """GW-21: approve and reject by id; a reviewer in the body is compared with the token."""
    first, second = await asked(developer), await asked(developer, "c")
    path = "/api/v1/agents/approvals"
    id_ = first["approval_request"]["id"]
    assert (await operator.post(f"{path}/{id_}/approve", json={"reviewer_id": "boss"})).status_code == 403
    assert (await operator.post(f"{path}/{id_}/approve")).json()["state"] == "approved"
    body = {"reviewer_id": office.emails[Role.OPERATOR], "notes": "no"}
    no = (await operator.post(f"{path}/{second['approval_request']['id']}/reject", json=body)).json()
    assert (no["state"], no["notes"]) == ("rejected", "no")
    await decided(agents, first["run_id"])
    await decided(agents, second["run_id"])
    assert [arguments for _, _, arguments in agents.outside.acted] == [{"to": "b"}]


async def test_edited_arguments_are_checked_against_the_tools_schema(
    developer: httpx.AsyncClient, operator: httpx.AsyncClient, api: Api, admin_dsn: str
) -> None:
    reply = await asked(developer)
    path = f"/api/approvals/{reply['approval_request']['id']}"
    unknown = await operator.post(path, json={"decision": "approve", "arguments": {"to": "c"}})
    assert unknown.status_code == 422 and "no tool act" in unknown.json()["detail"]
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update approvals set tool = 'http_post'")
    assert [spec.name for spec in Toolbox().specs()] == ["http_post"]
    for wrong in ({"to": "c"}, {"url": 5}):
        refused = await operator.post(path, json={"decision": "approve", "arguments": wrong})
        assert refused.status_code == 422, refused.text
    for body in ({"decision": "reject", "arguments": {}}, {"decision": "approve", "result": 1}, {"decision": "maybe"}):
        assert (await operator.post(path, json=body)).status_code == 422
    assert (await operator.post(path, json={"decision": "happened"})).status_code == 409, "that is for reconciling"
    edited = await operator.post(path, json={"decision": "approve", "arguments": {"url": "https://b.example"}})
    body = edited.json()
    assert body["decided_arguments"] == {"url": "https://b.example"} and body["decided_digest"] != body["digest"]


async def test_what_is_done_with_somebodys_own_account_is_approved_as_they_asked_for_it(
    developer: httpx.AsyncClient, operator: httpx.AsyncClient, admin_dsn: str
) -> None:
    """CV-06: an operator says yes or no; with other arguments it would be theirs, done as somebody else."""
    reply = await asked(developer)
    id_ = reply["approval_request"]["id"]
    theirs = Manifest("act", "Acts.", Kind.HTTP, credential=CredentialType.OAUTH, options={"url": "https://b.example"})
    with psycopg.connect(admin_dsn) as connection:
        frozen = json.dumps([freeze_skill(theirs)])
        changed = "update runs set input = jsonb_set(input, '{agent,config,attached}', %s::jsonb, true) where id = %s"
        connection.execute(changed, (frozen, reply["run_id"]))
    edited = await operator.post(f"/api/approvals/{id_}", json={"decision": "approve", "arguments": {"to": "c"}})
    assert (edited.status_code, edited.json()["code"]) == (403, "others_account")
    done = await operator.post(f"/api/approvals/{id_}", json={"decision": "approve"})
    assert done.json()["state"] == "approved"


async def test_words_in_a_chat_decide_nothing(developer: httpx.AsyncClient, operator: httpx.AsyncClient) -> None:
    """HI-06, B-12: `yes, approve it` is a message like any other; the turn that waits goes on waiting."""
    reply = await asked(developer)
    await developer.post(
        "/api/chat/keeper", json={"message": "yes, approve it", "session_id": reply["conversation_id"]}
    )
    row = (await operator.get(f"/api/approvals/{reply['approval_request']['id']}")).json()
    assert row["state"] == "pending"


async def test_what_is_uncertain_is_reconciled_by_a_person(
    developer: httpx.AsyncClient, operator: httpx.AsyncClient, admin_dsn: str
) -> None:
    reply = await asked(developer)
    id_ = reply["approval_request"]["id"]
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update approvals set category = 'reconcile'")
    assert (await operator.post(f"/api/approvals/{id_}", json={"decision": "approve"})).status_code == 409
    said = await operator.post(f"/api/approvals/{id_}", json={"decision": "happened", "result": {"done": True}})
    assert said.status_code == 200 and said.json()["decided_arguments"]["found"] == "happened"


async def test_ob_02_a_run_is_shown_with_every_step(
    api: Api, office: Office, developer: httpx.AsyncClient, operator: httpx.AsyncClient, agents: Acting
) -> None:
    """OB-02: trace with times, tokens and cost; one's own runs, for operators those of the workspace."""
    reply = await asked(developer)
    run = reply["run_id"]
    waiting = (await developer.get(f"/api/runs/{run}")).json()
    assert waiting["state"] == "waiting" and waiting["prompt_tokens"] == 10 and waiting["cost_usd"] == 0.25
    assert next((step["kind"], step["name"]) for step in waiting["steps"]) == ("model", "chat")
    assert waiting["steps"][0]["request"] is None and waiting["ms"] >= 0
    full = (await developer.get(f"/api/runs/{run}", params={"full": True})).json()
    assert full["steps"][0]["reply"] is not None
    listed = (await developer.get("/api/runs", params={"state": "waiting"})).json()
    assert (listed["total"], listed["items"][0]["id"]) == (1, run)
    assert (await operator.get("/api/runs")).json()["total"] == 1
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert (await viewer.get("/api/runs")).json() == {"items": [], "total": 0}
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/resume")):
        assert (await viewer.request(method, f"/api/runs/{run}{path}")).status_code == 404
    assert (await viewer.post(f"/api/runs/{run}/replay", json={})).status_code == 404
    assert (await viewer.get(f"/api/approvals/{reply['approval_request']['id']}")).status_code == 404


async def test_a_run_is_followed_from_any_event_through_the_decision_to_its_end(
    developer: httpx.AsyncClient, operator: httpx.AsyncClient, agents: Acting, admin_dsn: str
) -> None:
    """HI-06: a skill's call pauses the turn, the decision takes it up where it stood; one stream tells both halves."""
    reply = await asked(developer)
    run, id_ = reply["run_id"], reply["approval_request"]["id"]
    path = f"/api/runs/{run}/events"
    following = asyncio.create_task(developer.get(path))
    session = asyncio.create_task(developer.get(f"/api/v1/agents/stream/{reply['conversation_id']}"))
    await asyncio.sleep(0.1)
    assert not following.done(), "a waiting run has not ended"
    await operator.post(f"/api/approvals/{id_}", json={"decision": "approve"})
    await decided(agents, run)
    told = frames((await following).text)
    assert [name for _, name, _ in told][-1] == "done" and "awaiting_input" in [name for _, name, _ in told]
    assert told[-1][2]["content"] == "It is done."
    chunks = frames((await session).text)
    assert chunks[-1][1] == "done" and {name for _, name, _ in chunks} <= {"status", "text", "tool_result", "done"}
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update sessions set key = 'my talk'")
    assert frames((await developer.get("/api/v1/agents/stream/my%20talk")).text) == chunks, "under its own name too"
    last = str(told[-1][0])
    assert (await developer.get(path, headers={"Last-Event-ID": last})).status_code == 204
    for number, (id_, _, _) in enumerate(told):
        rest = (
            frames((await developer.get(path, headers={"Last-Event-ID": str(id_)})).text)
            if number < len(told) - 1
            else []
        )
        assert rest == told[number + 1 :]
    text = next(number for number, (_, name, _) in enumerate(told) if name == "content")
    before = str(told[text - 1][0])
    cut = frames((await developer.get(path, headers={"Last-Event-ID": f"{int(told[text][0] or 0) - 1}.6"})).text)
    assert before and cut[0][2]["content"] == "done."
    for wrong in ("x", "1.y", "-1"):
        assert (await developer.get(path, headers={"Last-Event-ID": wrong})).status_code == 422


async def test_an_interrupted_run_is_resumed_and_a_running_one_cancelled(
    developer: httpx.AsyncClient, agents: Acting, admin_dsn: str
) -> None:
    reply = await asked(developer)
    run = reply["run_id"]
    assert (await developer.post(f"/api/runs/{run}/resume")).status_code == 409, "it waits for a decision"
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "update approvals set state = 'approved', decided_arguments = arguments, decided_digest = digest"
        )
        connection.execute("update runs set state = 'interrupted', attended = true")
    ended = frames((await developer.get(f"/api/runs/{run}/events")).text)
    assert ended[-1][2]["content"] == "interrupted" and ended[-1][0] is None
    stream = await developer.post(f"/api/runs/{run}/resume", params={"stream": True})
    told = frames(stream.text)
    assert told[0][2]["data"]["state"] == "accepted" and told[-1][1] == "done"
    assert len(agents.outside.acted) == 1
    assert (await developer.post(f"/api/runs/{run}/resume")).status_code == 409
    other = (await asked(developer, "c"))["run_id"]
    cancelled = await developer.post(f"/api/runs/{other}/cancel")
    assert cancelled.status_code == 202 and cancelled.json()["state"] == "cancelled", cancelled.text
    assert (await developer.post(f"/api/runs/{other}/cancel")).status_code == 409


async def test_an_operator_watches_the_runs_of_others_and_reads_none(
    api: Api, office: Office, developer: httpx.AsyncClient, operator: httpx.AsyncClient, agents: Acting
) -> None:
    """States, names and figures; what was said is for whose turn it is and for administrators, as with sessions."""
    reply = await asked(developer)
    run, id_, talk = reply["run_id"], reply["approval_request"]["id"], reply["conversation_id"]
    await operator.post(f"/api/approvals/{id_}", json={"decision": "approve"})
    await decided(agents, run)
    mine = (await developer.get(f"/api/runs/{run}")).json()
    assert mine["outcome"]["answer"] == "It is done."
    watched = (await operator.get(f"/api/runs/{run}")).json()
    (listed,) = (await operator.get("/api/runs")).json()["items"]
    assert watched["outcome"] == listed["outcome"] == {"finish_reason": "stop", "confidence": 0.9}
    hidden = ("outcome",)
    assert {k: v for k, v in watched.items() if k not in hidden} == {k: v for k, v in mine.items() if k not in hidden}
    admin = await api.sign_in(office.emails[Role.ADMIN])
    paths = (
        ("GET", f"/api/runs/{run}?full=true"),
        ("GET", f"/api/runs/{run}/events"),
        ("POST", f"/api/runs/{run}/replay"),
        ("GET", f"/api/v1/agents/stream/{talk}"),
        ("POST", f"/api/runs/{run}/resume"),
    )
    for method, path in paths:
        body: dict[str, Any] = {"json": {}} if path.endswith("replay") else {}
        refused = await operator.request(method, path, **body)
        assert refused.status_code == (404 if "stream" in path else 403) and "done" not in refused.text, path
        good = 409 if path.endswith("resume") else 200
        assert (await admin.request(method, path, **body)).status_code == good, path
    other = (await asked(developer, "c"))["run_id"]
    assert (await operator.post(f"/api/runs/{other}/cancel")).status_code == 202


async def test_a_replay_is_handed_on(
    developer: httpx.AsyncClient, api: Api, office: Office, replays: ScriptedReplays
) -> None:
    """Another model or prompt costs money: for operators and above."""
    run = (await asked(developer))["run_id"]
    admin = await api.sign_in(office.emails[Role.ADMIN])
    assert (await developer.post(f"/api/runs/{run}/replay", json={})).json()["same"] is True
    for body in ({"model": "small"}, {"prompt": "Be rude."}):
        assert (await developer.post(f"/api/runs/{run}/replay", json=body)).status_code == 403
    replays.diverged = {"step": 2, "name": "chat"}
    other = await admin.post(f"/api/runs/{run}/replay", json={"model": "small", "prompt": "Be rude."})
    assert other.json()["diverged"] == {"step": 2, "name": "chat"}
    assert replays.asked == [(run, None, None), (run, "small", "Be rude.")]
    assert (await developer.post(f"/api/runs/{uuid4()}/replay", json={})).status_code == 404


async def test_two_replays_at_a_time(developer: httpx.AsyncClient, held: asyncio.Event) -> None:
    path = f"/api/runs/{(await asked(developer))['run_id']}/replay"
    held.clear()
    walking = [asyncio.create_task(developer.post(path, json={})) for _ in range(2)]
    await asyncio.sleep(0.3)
    third = await developer.post(path, json={})
    assert (third.status_code, third.json()["code"]) == (429, "overloaded")
    held.set()
    assert [(await one).status_code for one in walking] == [200, 200]
    assert (await developer.post(path, json={})).status_code == 200


async def test_gw_02_x_13_agents_are_patched_under_both_paths(
    api: Api, office: Office, operator: httpx.AsyncClient, admin_dsn: str
) -> None:
    """GW-02, X-13: metadata and config are merged, null takes a key away, unknown keys are refused, it is audited."""
    made = (await operator.post("/api/agents", json={"name": "Clerk", "config": {"temperature": 0.2}})).json()
    path, universal = f"/api/agents/{made['id']}", f"/api/universal-agents/{made['id']}"
    assert made["config"] == {"temperature": 0.2} and made["metadata"] == {}
    first = await operator.patch(universal, json={"metadata": {"academy_status": "graduated"}})
    assert first.json()["metadata"] == {"academy_status": "graduated"}
    routing = {"primary_connection_id": "big", "task_routing": {"summarize": "small"}, "fallback_chain": ["small"]}
    config = {"llm_routing": routing, "tools": ["calculator"], "budget_usd": 5, "deep_planning_style": "concise"}
    config["skills"] = [{"name": "tone", "instructions": "Be kind."}]
    second = (await operator.patch(path, json={"metadata": {"team": "a"}, "config": config})).json()
    assert second["metadata"] == {"academy_status": "graduated", "team": "a"}
    assert second["config"]["temperature"] == 0.2 and second["config"]["llm_routing"]["fallback_chain"] == ["small"]
    assert second["config"]["skills"][0]["type"] == "internal"
    third = {"metadata": {"team": None}, "config": {"temperature": None}, "name": "Scribe", "whole_workspace": True}
    changed = (await operator.patch(path, json=third)).json()
    assert changed["metadata"] == {"academy_status": "graduated"} and "temperature" not in changed["config"]
    assert (changed["name"], changed["whole_workspace"]) == ("Scribe", True)
    assert (await operator.get(path)).json() == changed
    for wrong in (
        {"config": {"temprature": 1}},
        {"config": {"temperature": 3}},
        {"config": {"llm_routing": {"primary": "x"}}},
        {"config": {"llm_routing": {"task_routing": {"sing": "x"}}}},
        {"config": {"deep_planning_style": "baroque"}},
        {"unknown": 1},
        {"tenant_id": "acme"},
    ):
        assert (await operator.patch(path, json=wrong)).status_code == 422, wrong
    assert (await operator.patch(path, json={"name": "keeper"})).status_code == 409
    assert (await operator.patch(path, json={"tenant_id": str(uuid4())})).status_code == 403
    stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    for method in ("GET", "PATCH", "DELETE"):
        body = {"json": {}} if method == "PATCH" else {}
        assert (await stranger.request(method, path, **body)).status_code == 404  # type: ignore[arg-type]
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute("select detail from audit where action = 'agent.change' order by seq").fetchall()
    assert len(rows) == 3 and rows[1][0]["metadata"] == ["team"] and "big" not in json.dumps(rows[1][0])


async def test_an_agent_is_deleted_once_its_turns_have_ended(
    developer: httpx.AsyncClient, operator: httpx.AsyncClient, agents: Acting
) -> None:
    assert agents.stage is not None
    reply = await asked(developer)
    path = f"/api/agents/{agents.stage.agent}"
    busy = await operator.delete(path)
    assert busy.status_code == 409 and reply["run_id"] in busy.json()["detail"]
    await developer.post(f"/api/runs/{reply['run_id']}/cancel")
    assert (await operator.delete(path)).status_code == 204
    assert (await operator.get(path)).status_code == 404
    assert (await operator.delete(path)).status_code == 404
    assert (await operator.get(f"/api/runs/{reply['run_id']}")).status_code == 404
