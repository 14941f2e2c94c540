"""Tenant B against everything of tenant A: by every route, by every identifier, and with the first wall taken out."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import astuple, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.archive import FileBundle, pack_zip
from cluster.basics.scope import Role, Scope
from cluster.models.ports import EmbedderFacts, EmbeddingLane
from cluster.state.work.runs import RunLedger
from configs.sections import AgentSettings
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.graph.graph_rows import GraphStore
from serve_apps.agents.durable.replay import Replayer
from serve_apps.agents.intake.path_router import read_rules
from serve_apps.agents.intake.route_cache import CachedRouter
from serve_apps.agents.intake.turn_intake import TurnIntake, TurnStores
from serve_apps.retrieval.search.pipeline import SearchPipeline
from tests.fakes.corpus import Book, Passage, Vectors, hash_vector, load, open_agent, open_generation
from tests.fakes.graphs import graph_of
from tests.fakes.http import Api, Office, make_parts, open_office, serve

SECRET = "The vault of the lighthouse opens with seven turns."


class HashEmbedder:
    async def facts(self) -> EmbedderFacts:
        return EmbedderFacts("hash", 384, 256, "hash")

    async def embed(self, texts: Any, lane: EmbeddingLane = EmbeddingLane.QUESTION) -> Any:
        import numpy as np

        vectors: list[Vectors] = [hash_vector(text) for text in texts]
        return np.stack(vectors)


@dataclass(frozen=True)
class Owned:
    """Everything of tenant A that has an identifier."""

    tenant: str
    workspace: str
    document: str
    version: str
    chunk: str
    agent: str
    job: str
    key: str
    session: str
    run: str
    approval: str
    connection: str
    credential: str
    binding: str
    skill: str
    schedule: str
    answer: str
    golden: str
    golden_run: str
    entity: str
    user: str
    group: str
    policy: str
    hold: str
    erasure: str
    webhook: str
    source: str
    upload: str


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    parts = make_parts(app_dsn, tmp_path)
    search = SearchPipeline(parts.database, HashEmbedder(), None, SearchSettings(), RerankSettings())
    records = TurnStores(
        parts.database,
        RunLedger(parts.database),
        parts.agent_store,
        parts.conversations,
        parts.memory,
        parts.audit,
        parts.skills,
        parts.approvals,
    )
    router = CachedRouter(read_rules(Path(str(files("configs"))) / "routing.yaml"), None, time.monotonic)
    desk = TurnIntake(records, router, {}, AgentSettings(), uuid4)
    replays = Replayer(parts.runs, {}, ())
    async with serve(replace(parts, search=search, orchestrator=desk, replays=replays)) as made:
        yield made


@pytest.fixture
def offices(admin_dsn: str) -> tuple[Office, Office]:
    return open_office(admin_dsn, "a"), open_office(admin_dsn, "b")


async def furnish(api: Api, admin_dsn: str, office: Office) -> Owned:
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, office.scope, "keeper")
        generation = open_generation(connection, office.scope)
        book = Book("vault.txt", [Passage(SECRET, vector=hash_vector(SECRET))], file_type="text", agents=(agent,))
        (document,) = load(connection, office.scope, generation, [book])
        row = connection.execute(
            "select id, version_id from document_chunks where document_id = %s", (document,)
        ).fetchone()
    assert row is not None
    client = await api.sign_in(office.emails[Role.ADMIN])
    job = (await client.post("/api/documents/reindex-all")).json()["job_id"]
    key = (await client.post("/api/api-keys", json={"name": "k"})).json()["id"]
    wanted: dict[str, Any] = {"name": "c", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    connection_id = (await client.post("/api/llm-connections", json=wanted)).json()["id"]
    session = (await client.post("/v1/agent/sessions", json={"session_id": "diary"})).json()["id"]
    run, approval = furnish_run(admin_dsn, office, agent, session)
    wanted = {"name": "c", "type": "api_key", "values": {"key": SECRET}, "extra": {"region": SECRET}}
    credential = (await client.post("/api/credentials", json=wanted)).json()["id"]
    binding = (await client.post(f"/api/credentials/{credential}/bindings", json={"agent_id": agent})).json()["id"]
    wanted = {"name": "a_skill_of_a", "description": SECRET, "text": SECRET}
    skill = (await client.post("/api/skills", json=wanted)).json()["name"]
    assert (await client.post(f"/api/agents/{agent}/skills", json={"name": skill})).status_code == 200
    wanted = {"track": "integration", "quiz": QUIZ}
    assert (await client.post(f"/api/agents/{agent}/academy/enrol", json=wanted)).status_code == 202
    wanted = {"name": "s", "agent": agent, "cron": "0 2 * * *", "payload": {"message": SECRET}}
    schedule = (await client.post("/api/scheduler/jobs", json=wanted)).json()["id"]
    answer = (await client.post("/api/ask", json={"question": SECRET})).json()["id"]
    golden, golden_run = await furnish_golden(api, client)
    people = (await client.get("/api/users")).json()["items"]
    await furnish_limit(client, people[0]["id"])
    return Owned(
        office.scope.tenant,
        office.scope.workspace,
        document,
        row[1],
        row[0],
        agent,
        job,
        key,
        session,
        run,
        approval,
        connection_id,
        credential,
        binding,
        skill,
        schedule,
        answer,
        golden,
        golden_run,
        await furnish_graph(api, office, document),
        people[0]["id"],
        (await client.post("/api/groups", json={"name": "keepers of a"})).json()["id"],
        (await client.post("/api/data-governance/policies", json=POLICY)).json()["policy"]["id"],
        *await furnish_governance(admin_dsn, client, office, people[0]["id"]),
        (await client.post("/api/webhooks", json=WEBHOOK)).json()["id"],
        await furnish_source(api, client, office),
        await furnish_upload(client),
    )


async def furnish_upload(client: httpx.AsyncClient) -> str:
    """A file of which the first part is here."""
    wanted = {"document_name": "vault.txt", "total_size_bytes": 1_007, "description": SECRET}
    made = (await client.post("/api/uploads", json=wanted)).json()
    assert (await client.put(made["part_urls"][0], content=b"v" * 1_000)).status_code == 200
    return str(made["upload_session_id"])


async def furnish_governance(admin_dsn: str, client: httpx.AsyncClient, office: Office, person: str) -> tuple[str, str]:
    """A hold, and an erasure on record."""
    wanted = {"kind": "workspace", "object_id": office.scope.workspace, "name": SECRET, "reason": SECRET}
    hold = await client.post("/api/legal-holds", json=wanted)
    erasure = str(uuid4())
    with psycopg.connect(admin_dsn) as connection:
        connection.execute(
            "insert into erasures (id, tenant_id, workspace_id, kind, subjects, reason, asked_by, asked_at,"
            " content, marks)"
            " values (%s, %s, %s, 'document', '{d}', %s, %s, now(), '[]',"
            ' \'{"ids": [], "names": [], "windows": []}\')',
            (erasure, office.scope.tenant, office.scope.workspace, SECRET, person),
        )
    assert (await client.post(f"/api/legal-holds/{hold.json()['id']}/release", json={"reason": "r"})).status_code == 200
    return hold.json()["id"], erasure


async def furnish_source(api: Api, client: httpx.AsyncClient, office: Office) -> str:
    """A source with an item, and removals that wait."""
    await asyncio.to_thread(Path(api.parts.read.nfs_base_path or "").mkdir, exist_ok=True)
    made = await client.post("/api/sources", json={"name": SECRET, "kind": "folder", "settings": {"path": "."}})
    assert made.status_code == 201, made.text
    scope = Scope.of_worker(office.scope.tenant, office.scope.workspace)
    async with api.parts.database.transaction(scope) as tx:
        values = {"source": made.json()["id"], "text": SECRET, **scope.keys}
        await tx.run(
            "insert into source_items (source_id, tenant_id, workspace_id, item_id, path)"
            " values (%(source)s, %(tenant)s, %(workspace)s, 'vault.txt', %(text)s)",
            **values,
        )
    return str(made.json()["id"])


async def furnish_limit(client: httpx.AsyncClient, user: str) -> None:
    """A rule for somebody."""
    answer = await client.put(f"/api/limits/user/{user}/chat", json={"amount": 7, "window": "minute"})
    assert answer.status_code == 204, answer.text


async def furnish_graph(api: Api, office: Office, document: str) -> str:
    """What the document says, as a worker leaves it: the id of one of its entities."""
    scope, store = Scope.of_worker(office.scope.tenant, office.scope.workspace), GraphStore(api.parts.database)
    async with api.parts.database.transaction(scope) as tx:
        (row,) = await tx.all("select current_version as version from documents where id = %(d)s", d=document)
        said = graph_of("Orion Lighthouses Ltd uses Docker.")
        assert await store.write(tx, scope, row["version"], said, reads=0, fingerprint="f")
        (row,) = await tx.all("select id from entities where canonical_name = 'orion lighthouses'")
    return str(row["id"])


async def furnish_golden(api: Api, client: httpx.AsyncClient) -> tuple[str, str]:
    """A golden set with a run."""
    golden = str((await client.post("/api/golden-sets", json={"name": SECRET})).json()["id"])
    wanted = {"key": "vault", "question": SECRET, "documents": ["vault.txt"], "answers": [SECRET]}
    assert (await client.post(f"/api/golden-sets/{golden}/questions", json=wanted)).status_code == 201
    run = str((await client.post(f"/api/golden-sets/{golden}/runs", json={})).json()["id"])
    await api.parts.golden_runs.settled(run)
    return golden, run


def furnish_run(admin_dsn: str, office: Office, agent: str, session: str) -> tuple[str, str]:
    """A conversation that waits for a person, with everything that is remembered of it."""
    run, approval = str(uuid4()), str(uuid4())
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select user_id from sessions where id = %s", [session]).fetchone()
        assert row is not None
        ids = {
            "t": office.scope.tenant,
            "w": office.scope.workspace,
            "s": session,
            "a": agent,
            "r": run,
            "p": approval,
            "u": row[0],
            "text": SECRET,
            "json": json.dumps({"text": SECRET}),
        }
        for statement in (
            "insert into messages values (%(s)s, 1, %(t)s, %(w)s, 'user', %(json)s)",
            "insert into facts (tenant_id, workspace_id, session_id, user_id, category, importance, fact)"
            " values (%(t)s, %(w)s, %(s)s, %(u)s, 'topic', 'high', %(text)s)",
            "insert into session_summaries values (%(s)s, %(t)s, %(w)s, 1, %(text)s)",
            "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, seed)"
            " values (%(r)s, %(t)s, %(w)s, %(s)s, %(a)s, %(u)s, 'general', 'waiting', '{}', 1)",
            "insert into run_steps (run_id, seq, tenant_id, workspace_id, kind, name, request, request_hash, state)"
            " values (%(r)s, 1, %(t)s, %(w)s, 'tool', 'http_get', %(json)s, 'h', 'done')",
            "insert into approvals (id, tenant_id, workspace_id, run_id, step, session_id, agent_id, requested_by,"
            " tool, arguments, digest, expires_at) values (%(p)s, %(t)s, %(w)s, %(r)s, 1, %(s)s, %(a)s, %(u)s,"
            " 'http_post', %(json)s, 'd', now() + interval '1 day')",
            "insert into resource_usage values (%(t)s, %(w)s, 'pages', 'day', now(), %(u)s, %(u)s, 7)",
            "insert into spend (workspace_id, agent_id, month, tenant_id) values (%(w)s, %(a)s, '2026-01-01', %(t)s)",
        ):
            connection.execute(statement, ids)
    return run, approval


POLICY = {"name": SECRET, "body": {"pii": {"journals": "mask"}}, "tenant_wide": True}
WEBHOOK = {"name": SECRET, "url": "http://127.0.0.1:9/secret", "topics": ["*"]}
QUIZ = {"questions": [{"question": "What opens the vault?", "facts": ["seven turns"], "source": "vault.txt"}]}

PAGE_SEEN = {"page_version": f"{'0' * 32}.0"}

# What routes want in their bodies before they look for the object.
QUERIES: dict[str, dict[str, str]] = {
    "GET /api/documents/{document_id}/access": {"email": "x@y.example"},
    "GET /api/auth/oidc/{provider}/start": {"challenge": "a" * 43, "return_to": "console"},
}
POLICY_OF_B = {"name": "of b", "body": {}}
BODIES: dict[str, Any] = {
    "POST /api/legal-holds/{hold_id}/release": {"reason": "of b"},
    "POST /api/webhooks/{webhook_id}/replay": {"since": "2026-01-01T00:00:00Z"},
    "POST /api/sources/{source_id}/approve": {"removals": 1},
    "POST /api/sources/{source_id}/decline": {"removals": 1},
    "POST /api/golden-sets/{set_id}/questions": {"question": "of b?", "answers": ["b"]},
    "POST /api/golden-sets/{set_id}/import": {"text": "- {question: of b, answer: b}"},
    "POST /api/approvals/{approval_id}": {"decision": "approve"},
    "POST /api/documents/{document_id}/extract": {"schema": {"properties": {"opens": {"type": "string"}}}},
    "POST /api/documents/{document_id}/pages/{number}/corrections": {**PAGE_SEEN, "line": 0, "text": "of b"},
    "PUT /api/documents/{document_id}/pages/{number}/review": PAGE_SEEN,
    "PUT /api/documents/{document_id}/readers": {"readers": []},
    "PUT /api/documents/{document_id}/classification": {"classification": "internal"},
    "POST /api/chat/{agent_id}": {"message": "hello"},
    "PUT /scim/v2/Users/{user_id}": {"userName": "mole@b.example"},
    "PUT /scim/v2/Groups/{group_id}": {"displayName": "moles"},
    "PATCH /scim/v2/Users/{user_id}": {"Operations": [{"op": "replace", "path": "active", "value": False}]},
    "PATCH /scim/v2/Groups/{group_id}": {"Operations": [{"op": "remove", "path": "members"}]},
    "PUT /api/limits/{subject_kind}/{subject}/{resource}": {"amount": 1, "window": "minute"},
    "POST /api/runs/{run_id}/feedback": {"thumb": "up"},
    "PUT /api/data-governance/policies/{policy_id}": {**POLICY_OF_B, "version": 1},
    "POST /api/runs/{run_id}/unmask": {"reason": "somebody asked"},
    "POST /api/credentials/{credential_id}/bindings": {"skill": "any"},
    "POST /api/oauth/connections/{credential_id}/complete": {"state": "s", "code": "c"},
    **{
        f"POST /api/{kind}/{{agent_id}}/academy/enrol": {"track": "integration", "quiz": QUIZ}
        for kind in ("agents", "universal-agents")
    },
    "PUT /api/llm-connections/{connection_id}/key": {"key": "sk-of-b"},
    **{
        f"POST /api/{kind}/{{agent_id}}/skills{what}": body
        for kind in ("agents", "universal-agents")
        for what, body in (
            ("", {"name": "a_skill_of_a"}),
            (":create_and_attach", {"name": "of_b", "description": "d", "code": "def run(payload):\n    return {}\n"}),
        )
    },
}


# What takes a file before it looks for the object.
FILES: dict[str, Any] = {
    f"POST /api/{kind}/{{agent_id}}/import-skill-pack": {
        "file": (
            "of_b.skill",
            pack_zip(FileBundle("of-b", {"SKILL.md": b"---\nname: of-b\ndescription: d\n---\nBrief.\n"})),
        )
    }
    for kind in ("agents", "universal-agents")
}


def addressed(path: str, owned: Owned) -> str:
    values = {
        "{document_id}": owned.document,
        "{number}": "1",
        "{job_id}": owned.job,
        "{key_id}": owned.key,
        "{agent_id}": owned.agent,
        "{model_id}": owned.agent,
        "{session_id}": owned.session,
        "{run_id}": owned.run,
        "{approval_id}": owned.approval,
        "{connection_id}": owned.connection,
        "{credential_id}": owned.credential,
        "{binding_id}": owned.binding,
        "{skill_name}": owned.skill,
        "{schedule_id}": owned.schedule,
        "{track}": "integration",
        "{answer_id}": owned.answer,
        "{set_id}": owned.golden,
        "{key}": "vault",
        "{golden_run_id}": owned.golden_run,
        "{entity_id}": owned.entity,
        "{user_id}": owned.user,
        "{name}": "nobody",
        "{group_id}": owned.group,
        "{policy_id}": owned.policy,
        "{hold_id}": owned.hold,
        "{erasure_id}": owned.erasure,
        "{webhook_id}": owned.webhook,
        "{source_id}": owned.source,
        "{upload_id}": owned.upload,
        "{provider}": "nobody",
        "{tenant_id}": owned.tenant,
        "{workspace_id}": owned.workspace,
        "{baseline_id}": owned.golden_run,
        "{generation_id}": "1",
        "{version_id}": owned.version,
        "{subject_kind}": "user",
        "{subject}": owned.user,
        "{resource}": "chat",
    }
    for name, value in values.items():
        path = path.replace(name, value)
    assert "{" not in path, f"{path}: this test does not know the parameter"
    return path


async def walk(client: httpx.AsyncClient, api: Api, owned: Owned) -> list[tuple[str, int]]:
    """Every route with an identifier in its path, and every one that takes one in its query or body."""
    seen = []
    for method, path in sorted(api.app.state.permissions):
        if "{" in path:
            key = f"{method} {path}"
            body = BODIES.get(key, {}) if method in ("POST", "PATCH", "PUT") else None
            sent = {"files": FILES[key]} if key in FILES else {"json": body}
            answer = await client.request(method, addressed(path, owned), params=QUERIES.get(key), **sent)
            seen.append((f"{method} {path}", answer.status_code))
    for path in ("reindex-all", "embed-pending"):
        answer = await client.post(f"/api/documents/{path}", params={"agent_id": owned.agent})
        seen.append((path, answer.status_code))
    stats = await client.get("/api/documents/vector-store/stats", params={"agent_id": owned.agent})
    upload = await client.post(
        "/api/documents/upload", params={"agent_id": owned.agent}, files={"file": ("n.txt", b"new")}
    )
    search = await client.post("/api/documents/search", json={"query": "vault", "agent_id": owned.agent})
    ask = await client.post("/api/ask", json={"question": "vault", "agent_id": owned.agent})
    made = await client.post("/api/agents", json={"name": "of b"})
    assert made.status_code == 201, made.text
    mine = made.json()["id"]
    links = [
        await client.post("/api/documents/links", json={"agent_id": agent, "document_ids": [owned.document]})
        for agent in (mine, owned.agent, "keeper")
    ]
    named = zip(
        ("stats", "upload", "search", "ask", "links", "links", "links"),
        (stats, upload, search, ask, *links),
        strict=True,
    )
    return seen + [(name, answer.status_code) for name, answer in named]


async def test_mt_01_each_identifier_of_another_tenant_is_404_on_every_route(
    api: Api, admin_dsn: str, offices: tuple[Office, Office]
) -> None:
    """MT-01: nobody can tell a foreign object from one that does not exist."""
    a, b = offices
    owned = await furnish(api, admin_dsn, a)
    client = await api.sign_in(b.emails[Role.ADMIN])
    seen = await walk(client, api, owned)
    assert len(seen) >= 24
    assert [line for line in seen if line[1] != 404] == []
    owner = await api.sign_in(a.emails[Role.ADMIN])
    assert (await owner.get(f"/api/documents/{owned.document}")).status_code == 200


async def read_everything(client: httpx.AsyncClient, owned: Owned) -> list[httpx.Response]:
    """Lists, searches and statistics: they must answer, and without anything of tenant A."""
    answers = [
        await client.get(path)
        for path in (
            "/api/documents/",
            "/api/jobs",
            "/api/uploads",
            "/api/agents",
            "/api/api-keys",
            "/api/users",
            "/api/limits",
            "/api/workspaces",
            "/api/sessions",
            "/api/sessions?everyone=true",
            "/api/runs",
            "/api/approvals",
            "/api/llm-connections",
            "/api/credentials",
            "/api/oauth/connections",
            "/api/skills",
            "/api/scheduler/jobs",
            "/api/webhooks",
            "/v1/models",
            "/api/golden-sets",
            "/api/generations",
            "/api/admin/now",
            "/api/users?everywhere=true",
            "/api/graph",
            "/api/graph?search=Orion",
            "/api/graph/view",
            "/api/graph/view?search=Docker",
            "/scim/v2/Users",
            "/scim/v2/Groups",
        )
    ]
    answers.append(await client.get("/api/tenants"))
    answers.append(await client.get("/api/documents/vector-store/stats"))
    answers.append(await client.get("/api/documents/analytics"))
    query = {"query": "vault lighthouse seven turns", "document_ids": [owned.document]}
    answers.append(await client.post("/api/documents/search", json=query))
    answers.append(await client.post("/api/documents/search", json={"query": SECRET}))
    return answers


async def test_lists_searches_and_statistics_show_nothing_of_another_tenant(
    api: Api, admin_dsn: str, offices: tuple[Office, Office]
) -> None:
    """B-08, B-18: every read path asks for the tenant."""
    a, b = offices
    owned = await furnish(api, admin_dsn, a)
    client = await api.sign_in(b.emails[Role.ADMIN])
    await assert_nothing(client, owned, a)
    owner = await api.sign_in(a.emails[Role.ADMIN])
    found = (await owner.post("/api/documents/search", json={"query": "vault lighthouse"})).json()
    assert [hit["text"] for hit in found["results"]] == [SECRET]


async def assert_nothing(client: httpx.AsyncClient, owned: Owned, a: Office) -> None:
    for answer in await read_everything(client, owned):
        assert answer.status_code == 200, answer.text
        for text in (*astuple(owned), a.scope.tenant, "@a.example"):
            assert text not in answer.text, f"{answer.request.url}: {text}"
        # The question itself is repeated; the passage is not.
        assert SECRET not in [hit["text"] for hit in answer.json().get("results", [])]


WALL = re.compile(r"\b(\w+\.)?(workspace_id|tenant_id|id) = %\((workspace|tenant)\)s(::uuid)?")


def without_wall(queries: Any) -> dict[str, str]:
    """The queries with every comparison to the scope made true; what an insert writes stays."""
    return {name: WALL.sub("true", text) for name, text in queries.items()}


async def test_row_level_security_alone_holds_when_the_where_clauses_are_gone(
    api: Api, admin_dsn: str, offices: tuple[Office, Office]
) -> None:
    """MT-01: the second wall, without the first."""
    a, b = offices
    owned = await furnish(api, admin_dsn, a)
    client = await api.sign_in(b.emails[Role.ADMIN])
    weakened = 0
    parts = api.parts
    for part in (
        parts.library,
        parts.agent_store,
        parts.links,
        parts.job_queries,
        parts.jobs,
        parts.identity,
        parts.accounts,
        parts.scim.people,
        parts.scim.groups,
        parts.conversations,
        parts.runs,
        parts.approvals,
        parts.connections,
        parts.credentials,
        parts.oauth,
        parts.skills,
        parts.schedules,
        parts.webhooks.store,
        parts.school._register,
        parts.answers,
        parts.golden,
        parts.golden_runs,
        parts.switchover,
        parts.graph,
        parts.limits.store,
        parts.limits.usage,
        parts.upload_sessions,
        parts.document_usage,
        parts.document_analytics,
    ):
        before: Any = part._sql
        part._sql = without_wall(before)
        weakened += sum(before[name] != part._sql[name] for name in before)
    assert weakened >= 60
    seen = await walk(client, api, owned)
    assert [line for line in seen if line[1] != 404] == []
    await assert_nothing(client, owned, a)
    owner = await api.sign_in(a.emails[Role.ADMIN])
    assert (await owner.get(f"/api/documents/{owned.document}")).status_code == 200


async def test_no_table_shows_a_row_of_another_tenant_even_to_a_query_that_asks_for_it(
    api: Api, admin_dsn: str, offices: tuple[Office, Office]
) -> None:
    """MT-01: row-level security on every table that names a tenant, and on what search reads."""
    a, b = offices
    await furnish(api, admin_dsn, a)
    client = await api.sign_in(a.emails[Role.ADMIN])
    await client.post("/api/documents/upload", files={"file": ("n.txt", b"more")})
    with psycopg.connect(admin_dsn) as connection:
        found = connection.execute(
            "select table_name from information_schema.columns where column_name = 'tenant_id' and table_schema ="
            " 'public' and table_name not in ('tenant_turns') and table_name !~ '^embeddings_'"
        ).fetchall()
        tables = sorted(str(row[0]) for row in found)
        filled = [
            t
            for t in tables
            if connection.execute(f"select 1 from {t} where tenant_id = %s", [a.scope.tenant]).fetchone()
        ]
    assert len(filled) >= 22
    searched = "select id from searchable_documents(%(t)s, %(w)s, null, null, null, null, null, null)"
    for scope, empty in ((replace(a.scope, principals=("*",)), False), (b.scope, True)):
        async with api.parts.database.transaction(scope) as tx:
            for table in filled:
                rows = await tx.all(f"select 1 from {table} where tenant_id = %(t)s", t=a.scope.tenant)
                assert (not rows) == empty, table
            assert (not await tx.all(searched, t=a.scope.tenant, w=a.scope.workspace)) == empty
            shown = "select id from graph_documents(%(t)s, %(w)s, null)"
            assert (not await tx.all(shown, t=a.scope.tenant, w=a.scope.workspace)) == empty


async def test_readers_of_a_document_are_the_only_ones_who_find_it(
    api: Api, admin_dsn: str, offices: tuple[Office, Office]
) -> None:
    """MT-01: `readers` narrows a document inside its workspace, on every path."""
    a, _ = offices
    with psycopg.connect(admin_dsn) as connection:
        generation = open_generation(connection, a.scope)
        readers = (f"user:{a.emails[Role.DEVELOPER]}", "role:operator")
        book = Book("s.txt", [Passage(SECRET, vector=hash_vector(SECRET))], file_type="text", readers=readers)
        (document,) = load(connection, a.scope, generation, [book])
    for role in Role:
        client = await api.sign_in(a.emails[role])
        sees = role in (Role.DEVELOPER, Role.OPERATOR)
        for path in ("", "/content", "/pages/1", "/delete-impact"):
            assert (await client.get(f"/api/documents/{document}{path}")).status_code == (200 if sees else 404)
        assert (await client.get("/api/documents/")).json()["total"] == sees
        found = (await client.post("/api/documents/search", json={"query": SECRET})).json()
        assert len(found["results"]) == sees
