"""A word in each credential that must be found nowhere: whatever skills do with it, and wherever one looks."""

import asyncio
import base64
import json
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role, Scope
from cluster.state.vault import vault_of
from configs.settings import load_settings
from serve_apps.agents import turn_ports
from serve_apps.agents.durable.traced import TracedOrchestrator
from serve_apps.http.streams.replay_slots import FewReplays
from serve_apps.wiring.agents import TurnRuntime, build_container, build_turn_intake
from skills.framework.catalogue import ToolCatalog
from skills.framework.dependencies import Secret
from skills.framework.manifest import CredentialType
from skills.framework.open_credential import VaultOpener
from skills.framework.redaction import MARK
from tests.fakes.collector import Collector, collecting
from tests.fakes.corpus import open_agent
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.leaky import WAYS, leaky
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use, failing
from tests.fakes.models import FakeEmbedder

KEY = base64.b64encode(b"k" * 32).decode()  # the one that `make_parts` seals with
APPROVALS = """
patterns:
  - {tool: "*_asked", decision: ask, reason: "It writes."}
  - {tool: "*", decision: auto}
"""
CALLS = 100


def canary(name: str) -> str:
    """A word that is like no other, of characters that no encoding but base64 and hex changes."""
    return f"Kanarie{name.replace('_', '')}7531"


# With characters that encodings do change around it.
WORDS = {name: f'pä"ss /{canary(name)}+&' for name in CredentialType}
PEM = f"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n{canary('pem')}hkiG9w0BAQEF\n-----END PRIVATE KEY-----\n"
MARKED = "shown-and-found"  # a control: what is no secret is found in all these places
CREDENTIALS: dict[CredentialType, dict[str, Any]] = {
    CredentialType.SSH: {"username": "root", "private_key": PEM, "passphrase": WORDS["ssh"]},
    CredentialType.HTTP_BASIC: {"username": "ann", "password": WORDS["http_basic"]},
    CredentialType.BEARER_TOKEN: {"token": WORDS["bearer_token"]},
    CredentialType.DB_DSN: {"dsn": f"postgresql://ann:{quote(WORDS['db_dsn'], safe='')}@db.test/d"},
    CredentialType.API_KEY: {"key": canary("api_key")},
    CredentialType.CUSTOM: {"anything": WORDS["custom"], "pin": canary("pin")},
    CredentialType.OAUTH: {"client_secret": canary("client")},
}
SHOWN: dict[CredentialType, dict[str, Any]] = {
    CredentialType.CUSTOM: {"region": MARKED, "client_secret": canary("extra")},
    CredentialType.OAUTH: {"client_id": "aos", "base_url": "https://notes.test"},
}
CANARIES = [canary(name) for name in [*CredentialType, "llm", "pem", "pin", "extra", "client"]]


def traces_of(word: str) -> Iterator[bytes]:
    """The word as bytes, in hex, and in base64 wherever it begins."""
    data = word.encode()
    yield from (data, data.hex().encode(), data.hex().upper().encode())
    for before, first in ((0, 0), (1, 2), (2, 3)):
        shifted = bytes(before) + data
        yield base64.b64encode(shifted)[first : 8 * len(shifted) // 6]


NEEDLES = re.compile(b"|".join(re.escape(trace) for word in CANARIES for trace in traces_of(word)))


def leaks(place: str, said: str | bytes) -> list[str]:
    """Where a canary sings."""
    data = said if isinstance(said, bytes) else said.encode("utf-8", "surrogatepass")
    return [f"{place}: …{data[max(0, hit.start() - 150) : hit.end() + 20]!r}" for hit in NEEDLES.finditer(data)][:3]


class Connected:
    """Everybody has connected their account, and has a token."""

    async def open(self, scope: Scope, credential: str, client: Secret, refused: str | None = None) -> Secret:
        """A token of theirs."""
        return Secret(client.name, CredentialType.OAUTH, {"token": WORDS["oauth"]}, frozenset())


@dataclass
class House:
    """The product in this process: the API over the real loop, and where it tells of itself."""

    api: Api
    client: httpx.AsyncClient
    model: ModelServer
    office: Office
    agent: str
    opened: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        """One call; what it answers is kept for the search."""
        answer = await self.client.request(method, path, **options)
        assert answer.status_code < 400, answer.text
        self.said[f"{len(self.said)} {method} {path}"] = answer.text
        return answer

    async def turn(self, *calls: Use, agent: str = "", stream: bool = True) -> str:
        """A turn in which the model makes these calls; the stream, or the answer."""
        self.model.replies[:] = [Say(calls=calls), Say("Done.")] if calls else [Say("Done.")]
        body = {"message": "/chat Do it.", "stream": stream, "verbose": True}
        return str((await self.ask("POST", f"/api/chat/{agent or self.agent}", json=body)).text)


@dataclass(frozen=True)
class Ways:
    """Where things are."""

    app_dsn: str
    admin_dsn: str
    redis_url: str
    folder: Path


@pytest.fixture
def ways(app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path) -> Ways:
    (tmp_path / "approvals.yaml").write_text(APPROVALS)
    return Ways(app_dsn, admin_dsn, redis_url, tmp_path)


@asynccontextmanager
async def opened_house(ways: Ways, model: ModelServer, collector: Collector) -> AsyncIterator[House]:
    office, opened = open_office(ways.admin_dsn), list[str]()
    settings = load_settings(
        {
            "AOS_STATE_DIR": str(ways.folder / "state"),
            "DATABASE_URL": ways.app_dsn,
            "REDIS_URL": ways.redis_url,
            "AOS_MODELS_VAULT_KEY": KEY,
            "AOS_AGENTS_APPROVALS_FILE": str(ways.folder / "approvals.yaml"),
            "AOS_AGENTS_POLL_SECONDS": "0.1",
            "AOS_SANDBOX_WARM": "0",
            "AOS_TELEMETRY_ENDPOINT": collector.url,
            "AOS_TELEMETRY_PROMPTS": "true",
        }
    )
    base = build_container(settings, FakeEmbedder(), None)
    vault = vault_of(settings.models.vault_key, settings.state_dir)
    # As if they came with the program: no folder holds them, so no binding could name what they do.
    vaulted = VaultOpener(base.database, base.audit, vault, lambda: datetime.now(UTC), lambda _: True, Connected())
    base = replace(base, tools=ToolCatalog([*base.tools, *leaky(base.fence, vaulted, opened)]))
    workshop = TurnRuntime(settings, base)
    way_in = build_turn_intake(settings, base, dict.fromkeys(turn_ports.TurnPath, workshop.carrier))
    parts = make_parts(
        ways.app_dsn,
        ways.folder,
        telemetry=base.telemetry,
        toolbox=base.tools,
        orchestrator=TracedOrchestrator(way_in, base.telemetry),
        replays=FewReplays(workshop.replays),
        openers=(base.database.open, workshop.open),
        closers=(workshop.close, base.close, base.database.close),
    )
    with psycopg.connect(ways.admin_dsn) as connection:
        agent = open_agent(connection, office.scope, "keeper")
    async with serve(parts) as api:
        client = await api.sign_in(office.emails[Role.ADMIN])
        yield House(api, client, model, office, agent, opened)


async def furnish(house: House) -> None:
    """One credential of each type, bound to the agent, and connections that work and that fail."""
    for type_, values in CREDENTIALS.items():
        body = {"name": f"my-{type_}", "type": type_, "values": values}
        body["extra"] = SHOWN.get(type_, {})
        made = await house.ask("POST", "/api/credentials", json=body)
        await house.ask("POST", f"/api/credentials/{made.json()['id']}/bindings", json={"agent_id": house.agent})
    connection = {"name": "works", "base_url": house.model.url, "model": "m", "key": canary("llm"), "default": True}
    connection |= {"provider": "custom", "supports_tools": True}
    await house.ask("POST", "/api/llm-connections", json=connection)


async def provoke(house: House) -> None:
    """Calls of every way of leaking with every type, read and approved, and connections that quote their key."""
    for way in WAYS:
        calls = [Use(f"{way}_{type_}", {"n": number}) for type_ in CredentialType for number in (0, 1)]
        told = await house.turn(*calls)
        assert "Done." in told, told[-2_000:]
    for way in ("echoes", "fails"):
        for type_ in CredentialType:
            await house.turn(Use(f"{way}_{type_}_asked", {"n": 0}), stream=False)
    pending = (await house.ask("GET", "/api/approvals?state=pending")).json()["items"]
    assert len(pending) == 2 * len(CredentialType) == 14
    for one in pending:
        await house.ask("POST", f"/api/approvals/{one['id']}", json={"decision": "approve"})
    async with asyncio.timeout(60):
        while any(run["state"] in ("waiting", "queued", "running") for run in await runs(house)):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    with serve_model(everything=failing(401, f"Incorrect API key provided: {canary('llm')}")) as quoting:
        made = await house.ask(
            "POST",
            "/api/llm-connections",
            json={"name": "quotes", "base_url": quoting.url, "model": "m", "key": canary("llm"), "provider": "custom"},
        )
        await house.ask("POST", f"/api/llm-connections/{made.json()['id']}/test")
        config = {"llm_routing": {"primary_connection_id": "quotes"}}
        agent = (await house.ask("POST", "/api/agents", json={"name": "unlucky", "config": config})).json()["id"]
        await house.turn(agent=agent)
        await house.turn(agent=agent, stream=False)


async def runs(house: House) -> list[dict[str, Any]]:
    return list((await house.client.get("/api/runs?limit=200")).json()["items"])


async def read_all(house: House) -> None:
    """Everything that the API tells afterwards."""
    for path in (
        "/api/credentials",
        "/api/credentials/types",
        "/api/llm-connections",
        "/api/agents",
        "/api/approvals",
        "/api/sessions",
        "/api/audit?limit=1000",
        "/api/runs?limit=200",
        "/api/jobs",
        "/openapi.json",
    ):
        await house.ask("GET", path)
    for run in await runs(house):
        await house.ask("GET", f"/api/runs/{run['id']}")
        await house.ask("GET", f"/api/runs/{run['id']}/events")
    for session in (await house.client.get("/api/sessions")).json()["items"]:
        await house.ask("GET", f"/api/sessions/{session['id']}/messages")


async def dumped(admin_dsn: str) -> dict[str, bytes]:
    """Every table as text, without what is sealed; as the owner, who sees all rows."""
    found = {}
    async with await psycopg.AsyncConnection.connect(admin_dsn) as owner:
        cursor = await owner.execute(
            "select table_name, string_agg(quote_ident(column_name), ', ') from information_schema.columns"
            " where table_schema = 'public' and not (table_name, column_name) in"
            " (values ('credentials', 'sealed'), ('llm_connections', 'sealed_key')) group by table_name"
        )
        for table, columns in await cursor.fetchall():
            async with owner.cursor().copy(f"copy (select {columns} from {table}) to stdout") as rows:  # type: ignore[arg-type]
                found[table] = b"".join([bytes(row) async for row in rows])
    return found


async def test_a_canary_in_each_credential_is_found_nowhere(
    ways: Ways, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """CV-02, CV-01, GW-08: not in logs, prints, tables, events, answers, traces, prompts, approvals or files."""
    caplog.set_level(logging.DEBUG)
    with serve_model(key=canary("llm")) as model:
        async with collecting() as collector:
            async with opened_house(ways, model, collector) as house:
                await furnish(house)
                await provoke(house)
                await read_all(house)
            # Here all spans have been sent.
            traces = b"".join(body for bodies in collector.bodies.values() for body in bodies)
    printed = capfd.readouterr()
    places = {f"table {name}": rows for name, rows in (await dumped(ways.admin_dsn)).items()}
    places |= {f"answer {name}": text.encode() for name, text in house.said.items()}
    places |= {f"prompt {n}": json.dumps(asked.body).encode() for n, asked in enumerate(model.chats)}
    places |= {f"file {path}": path.read_bytes() for path in ways.folder.rglob("*") if path.is_file()}
    places |= {"traces": traces, "logs": caplog.text.encode(), "records": _records(caplog)}
    places |= {"stdout": printed.out.encode(), "stderr": printed.err.encode()}
    found = [line for place, said in places.items() for line in leaks(place, said)]
    assert found == [], "\n".join(found[:20])
    assert len(house.opened) >= CALLS and set(house.opened) >= {f"{way}_{t}" for way in WAYS for t in CredentialType}
    mark = MARK.encode()
    for place in ("traces", "logs", "stdout", "stderr", "table run_steps", "table events"):
        assert mark in places[place], f"nothing was said of it in {place}: this test looks at nothing"
    assert any(mark in said for place, said in places.items() if place.startswith("prompt"))
    assert MARKED.encode() in places["table credentials"] and b"echoes_ssh_asked" in places["table approvals"]
    assert leaks("control", base64.b64encode(f"ann:{canary('ssh')}".encode()))


def _records(caplog: pytest.LogCaptureFixture) -> bytes:
    """Also what no formatter showed."""
    return "\n".join(str(vars(record)) for record in caplog.records).encode("utf-8", "surrogatepass")
