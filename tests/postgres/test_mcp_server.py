"""The official MCP client against our server, over real HTTP, with two tenants; and skills found at an MCP server."""

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import httpx2
import psycopg
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role
from configs.sections_retrieval import RerankSettings, SearchSettings
from configs.sections_skills import SkillSettings
from serve_apps.http.mcp.offered_tools import OFFERS
from serve_apps.http.routes.agents.remote_skills import PROBE
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from skills.framework.contract import ToolInvocation
from skills.framework.credentials import CredentialForbidden
from skills.framework.dependencies import Secret
from skills.framework.manifest import Manifest
from skills.framework.mcp_connections import McpConnections
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.ground import ground
from tests.fakes.http import MATRIX, Office, make_parts, open_office
from tests.fakes.listening import listening, token
from tests.fakes.models import FakeEmbedder
from tests.fakes.orchestrator import Act, ScriptedOrchestrator, asks_first, says


class Refusing:
    """Opens nothing, and says for what it was asked."""

    async def open(self, call: ToolInvocation, manifest: Manifest, refused: str | None = None) -> Secret:
        raise CredentialForbidden(f"{manifest.name}, agent {call.agent}")


LEASE = "The lease of the harbour office ends on the last day of May."
SECRET = "The lease of the lighthouse ends with the harbour master's word."


@dataclass
class Served:
    url: str
    here: Office
    there: Office
    agents: ScriptedOrchestrator
    lease: str
    secret: str

    def token(self, role: Role = Role.OPERATOR, office: Office | None = None) -> str:
        return token(self.url, (office or self.here).emails[role])

    def post(self, path: str, body: dict[str, Any], credential: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {credential}"}
        return httpx.post(f"{self.url}{path}", json=body, headers=headers, timeout=60)


@pytest.fixture
def served(admin_dsn: str, app_dsn: str, tmp_path: Path) -> Iterator[Served]:
    here, there, agents = open_office(admin_dsn), open_office(admin_dsn), ScriptedOrchestrator()
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.own_bm25(connection)
        generation = corpus.open_generation(connection, here.scope, there.scope)
        (lease,) = corpus.load(connection, here.scope, generation, [book("lease.txt", LEASE)])
        (secret,) = corpus.load(connection, there.scope, generation, [book("lighthouse.txt", SECRET)])
    # A busy machine needs more than the product's ten seconds to start a Python with the SDK.
    on = ground(
        settings=SkillSettings(off=(), mcp_commands=(f"{sys.executable} -m mcp_server_time",)),
        remotes=McpConnections(connect=60),
        credentials=Refusing(),
    )
    parts = make_parts(app_dsn, tmp_path, orchestrator=agents, ground=on)
    search = SearchPipeline(parts.database, FakeEmbedder(), None, SearchSettings(), RerankSettings())
    answerer = DocumentAnswerer(search, parts.database, FakeEmbedder())
    with listening(replace(parts, search=search, answerer=answerer)) as url:
        yield Served(url, here, there, agents, lease, secret)


def book(name: str, text: str) -> Book:
    return Book(name, [Passage(text, vector=hash_vector(text))])


@asynccontextmanager
async def client(served: Served, credential: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {credential}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as made:
            yield made


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


async def given(mcp: Client, tool: str, **arguments: Any) -> Any:
    """What a tool gives, the same as text and structured."""
    result = await mcp.call_tool(tool, arguments)
    assert not result.is_error, text(result)
    assert json.loads(text(result)) == result.structured_content
    return result.structured_content


async def failed(mcp: Client, tool: str, **arguments: Any) -> str:
    result = await mcp.call_tool(tool, arguments)
    assert result.is_error
    return text(result)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_lists_and_calls_our_tools(served: Served, mode: str) -> None:
    """Both eras of the protocol: schemas and annotations, passages and answers with citations, a page's text."""
    async with client(served, served.token(), mode) as mcp:
        tools = {one.name: one for one in (await mcp.list_tools()).tools}
        assert set(tools) == set(OFFERS)
        assert all(one.input_schema["type"] == "object" and one.output_schema for one in tools.values())
        reading = {name for name, one in tools.items() if one.annotations and one.annotations.read_only_hint}
        assert reading == set(OFFERS) - {"chat", "reprocess_document"}
        found = await given(mcp, "search", query="When does the lease of the harbour end?")
        assert [(one["document_id"], one["page"]) for one in found["results"]] == [(served.lease, 1)]
        answer = await given(mcp, "ask", question="When does the lease of the harbour office end?")
        assert "May" in answer["answer"] and answer["citations"][0]["document_id"] == served.lease
        cited = answer["citations"][0]
        page = await given(mcp, "read_page", document_id=served.lease, page=cited["page"])
        assert page["text"][cited["start"] : cited["end"]] == cited["quote"]
        listed = await given(mcp, "list_documents")
        assert [one["id"] for one in listed["items"]] == [served.lease] and listed["total"] == 1


async def test_what_is_another_tenants_is_not_there(served: Served) -> None:
    """Row-level security as everywhere: not listed, not found, not read, not quoted, and its agents not named."""
    stranger = served.token(Role.ADMIN, served.there)
    served.post("/api/agents", {"name": "Keeper"}, stranger)
    async with client(served, stranger) as theirs:
        assert (await given(theirs, "read_page", document_id=served.secret))["text"] == SECRET
        assert [one["name"] for one in (await given(theirs, "list_agents"))["items"]] == ["Keeper"]
    async with client(served, served.token(Role.ADMIN)) as mcp:
        assert (await failed(mcp, "read_page", document_id=served.secret)).startswith("not_found:")
        assert (await failed(mcp, "reprocess_document", document_id=served.secret)).startswith("not_found:")
        found = await given(mcp, "search", query="lease lighthouse", document_ids=[served.secret])
        assert found["results"] == []
        everything = [await given(mcp, "search", query="lighthouse"), await given(mcp, "list_documents")]
        everything.append(await given(mcp, "ask", question="When does the lease of the lighthouse end?"))
        assert "harbour master" not in json.dumps(everything) and served.secret not in json.dumps(everything)
        assert [one["name"] for one in (await given(mcp, "list_agents"))["items"]] == ["assistant"]
        assert (await failed(mcp, "search", query="lease", agent_id="Keeper")).startswith("not_found:")


async def test_the_matrix_of_permissions_holds_for_each_tool(served: Served, admin_dsn: str, tmp_path: Path) -> None:
    """A viewer is neither shown nor given what the route behind a tool forbids; the refusal is in the trail."""
    assert Role.VIEWER not in MATRIX[OFFERS["reprocess_document"].route].roles
    async with client(served, served.token(Role.VIEWER)) as mcp:
        assert {one.name for one in (await mcp.list_tools()).tools} == set(OFFERS) - {"reprocess_document"}
        refused = await failed(mcp, "reprocess_document", document_id=served.lease)
        assert refused.startswith("forbidden:") and "viewer" in refused
        assert (await given(mcp, "read_page", document_id=served.lease))["text"] == LEASE
    with psycopg.connect(admin_dsn) as connection:
        query = "select object from audit where outcome = 'denied' and action = 'mcp reprocess_document'"
        assert connection.execute(query).fetchall() == [("POST /api/documents/{document_id}/reprocess",)]
        assert connection.execute("select count(*) from jobs").fetchall() == [(0,)]
    (tmp_path / "blobs").mkdir(exist_ok=True)
    (tmp_path / "blobs" / "none").write_bytes(b"x")  # the file behind the document
    async with client(served, served.token(Role.DEVELOPER)) as mcp:
        lease = {"document_id": served.lease}
        assert "no page 2" in await failed(mcp, "reprocess_document", **lease, pages="2")
        assert "language_not_installed" in await failed(mcp, "reprocess_document", **lease, languages=["xyz"])
        asked = {"pages": "1", "strategy": "tesseract", "languages": "eng", "wait": 0.1}
        assert (await given(mcp, "reprocess_document", **lease, **asked))["status"] == "queued"
    with psycopg.connect(admin_dsn) as connection:
        told = connection.execute("select payload->'reading' from jobs").fetchall()
    assert told == [({"pages": "1", "strategy": "tesseract", "languages": ["eng"]},)]


def test_nobody_comes_in_without_a_token(served: Served) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    for headers in ({}, {"Authorization": "Bearer no.such.token"}, {"Authorization": "Bearer aos_nothing"}):
        answer = httpx.post(f"{served.url}/mcp", json=body, headers={**accept, **headers})
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
    good = {"Authorization": f"Bearer {served.token()}"}
    elsewhere = {**accept, **good, "X-Workspace": served.there.scope.workspace}
    assert httpx.post(f"{served.url}/mcp", json=body, headers=elsewhere).status_code == 404
    assert httpx.post(f"{served.url}/mcp", content="{}", headers={**accept, **good}).status_code == 415
    assert httpx.get(f"{served.url}/mcp", headers={**accept, **good}).status_code == 405
    large = httpx.post(f"{served.url}/mcp", json={**body, "params": {"x": "x" * 200_000}}, headers={**accept, **good})
    assert large.status_code == 413


async def test_an_api_key_comes_in_with_its_role(served: Served) -> None:
    key = served.post("/api/api-keys", {"name": "k", "role": "viewer"}, served.token()).json()["key"]
    async with client(served, key) as mcp:
        assert "reprocess_document" not in {one.name for one in (await mcp.list_tools()).tools}
        assert (await given(mcp, "list_documents"))["total"] == 1


async def test_an_agent_is_asked_with_the_callers_rights(served: Served) -> None:
    """An answer with its conversation; a turn that waits for a person says so; one that fails is an error."""
    async with client(served, served.token(Role.VIEWER)) as mcp:
        said = await given(mcp, "chat", agent="Clerk", message="Hello")
        assert said["answer"] == "You said: Hello" and not said["requires_approval"]
        scope, asked = served.agents.asked[-1]
        assert asked.person is False, "HI-06: a machine can be asked nothing"
        assert (asked.agent, asked.message, scope.role) == ("Clerk", "Hello", Role.VIEWER)
        assert (scope.tenant, scope.workspace) == (served.here.scope.tenant, served.here.scope.workspace)
        await given(mcp, "chat", agent="Clerk", message="Again", session_id=said["conversation_id"])
        assert served.agents.asked[-1][1].session == said["conversation_id"]
        served.agents.script = lambda incoming: asks_first("a1")
        waits = await given(mcp, "chat", agent="Clerk", message="Send it")
        assert waits["requires_approval"] and waits["approval_request"]["tool"] == "http_post"
        served.agents.script = lambda incoming: [Unavailable("the model is away")]
        assert "the model is away" in await failed(mcp, "chat", agent="Clerk", message="Hello")
        served.agents.script = lambda incoming: broken()
        with pytest.raises(Exception, match="Something went wrong here") as bug:
            await mcp.call_tool("chat", {"agent": "Clerk", "message": "Hello"})
        assert "canary-of-a-bug" not in repr(bug.value)


def broken() -> list[Act]:
    return [RuntimeError("canary-of-a-bug"), *says("never")]


async def test_what_is_not_asked_rightly_is_said(served: Served) -> None:
    async with client(served, served.token()) as mcp:
        assert (await failed(mcp, "drop_tables")).startswith("invalid:")
        assert "question" in await failed(mcp, "ask")
        assert "limit" in await failed(mcp, "search", query="x", limit=10_000)
        assert "tenant_id" in await failed(mcp, "search", query="x", tenant_id=served.there.scope.tenant)
        assert "document_id" in await failed(mcp, "read_page", document_id="../../etc/passwd")


def test_sk_18_a_servers_tools_are_looked_at_and_registered_in_one_go(served: Served, admin_dsn: str) -> None:
    """SK-18: POST /api/skills/mcp:discover with the public reference server; twice adds nothing; fenced."""
    operator = {"Authorization": f"Bearer {served.token()}"}
    url = f"{served.url}/api/skills/mcp:discover"
    place = {"command": sys.executable, "args": ["-m", "mcp_server_time"], "prefix": "time", "timeout": 60}
    looked = httpx.post(url, json=place, headers=operator, timeout=60).json()
    assert [(one["name"], one["risk"], one["version"]) for one in looked["items"]] == [
        ("time_get_current_time", "read", None),
        ("time_convert_time", "read", None),
    ]
    assert looked["added"] == 0
    added = httpx.post(url, json={**place, "add": True}, headers=operator, timeout=60).json()
    assert added["added"] == 2 and [one["version"] for one in added["items"]] == [1, 1]
    assert httpx.post(url, json={**place, "add": True}, headers=operator, timeout=60).json()["added"] == 0
    skill = httpx.get(f"{served.url}/api/skills/time_convert_time", headers=operator).json()
    assert (skill["type"], skill["origin"], skill["options"]["tool"]) == ("mcp", "registered", "convert_time")
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute("select detail from audit where action = 'skill.discover'").fetchall()
    ((detail,),) = rows
    assert [one["skill"] for one in detail["registered"]] == ["time_get_current_time", "time_convert_time"]
    viewer = {"Authorization": f"Bearer {served.token(Role.VIEWER)}"}
    assert httpx.post(url, json=place, headers=viewer).status_code == 403
    for wrong, code in (
        ({"command": "/bin/sh", "args": ["-c", "id"]}, "mcp_command_not_allowed"),
        ({"url": "http://169.254.169.254/latest"}, "address_not_allowed"),
        ({"url": "http://127.0.0.1:1/mcp"}, "address_not_allowed"),
        ({}, "bad_manifest"),
    ):
        refused = httpx.post(url, json=wrong, headers=operator)
        assert refused.json()["code"] == code, refused.text


def test_au_05_discovery_gets_nothing_that_was_bound_to_a_skill(served: Served) -> None:
    """AU-05: whoever looks at a server chooses its address and the prefix, and called it like somebody's skill."""
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", PROBE) is None, "a skill could be called so"
    operator = {"Authorization": f"Bearer {served.token()}"}
    body = {"command": sys.executable, "args": ["-m", "mcp_server_time"], "prefix": "time"}
    url = f"{served.url}/api/skills/mcp:discover"
    asked = httpx.post(url, json=body | {"credential": "bearer_token"}, headers=operator, timeout=60)
    assert (asked.status_code, asked.json()["detail"]) == (403, f"{PROBE}, agent None"), asked.text
    nobody = body | {"agent_id": "11111111-1111-4111-8111-111111111111"}
    assert httpx.post(url, json=nobody, headers=operator, timeout=60).status_code == 404


async def test_aos_mcp_is_the_same_over_pipes(served: Served) -> None:
    """`aos mcp` and the official client's way of starting programs: the same tools, rights and errors."""
    for role, more in ((Role.DEVELOPER, {"reprocess_document"}), (Role.VIEWER, set())):
        words = ["-m", "cluster.cli", "--url", served.url, "--token", served.token(role), "mcp"]
        root = Path(__file__).parents[2]
        async with Client(StdioServerParameters(command=sys.executable, args=words, cwd=root)) as mcp:
            assert {one.name for one in (await mcp.list_tools()).tools} == set(OFFERS) - {"reprocess_document"} | more
            found = await given(mcp, "search", query="When does the lease of the harbour end?")
            assert [one["document_id"] for one in found["results"]] == [served.lease]
            assert (await failed(mcp, "read_page", document_id=served.secret)).startswith("not_found:")


def test_aos_skills_mcp_tools_shows_and_adds(served: Served) -> None:
    aos = [sys.executable, "-m", "cluster.cli", "--url", served.url, "--token", served.token(), "skills", "mcp-tools"]
    server = ["--", sys.executable, "-m", "mcp_server_time"]
    shown = subprocess.run([*aos, "--json", "--prefix", "t", "--add", *server], capture_output=True, check=True)
    body = json.loads(shown.stdout)
    assert body["added"] == 2 and [one["name"] for one in body["items"]] == ["t_get_current_time", "t_convert_time"]
    refused = subprocess.run([*aos, "--", "/bin/sh", "-c", "id"], capture_output=True, text=True)
    assert refused.returncode and "skills.mcp_commands" in refused.stdout + refused.stderr
    nobody = [sys.executable, "-m", "cluster.cli", "--url", served.url, "--token", "no.such.token", "mcp"]
    out = subprocess.run(nobody, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert out.returncode and "Traceback" not in out.stderr
