"""Planted personal data, sent through all that a conversation touches, and looked for wherever something is kept."""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from redis import Redis

from cluster.basics.scope import Role
from configs.settings import load_settings
from pipelines.documents.privacy.log_lines import OURS
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes.collector import Collector, collecting
from tests.fakes.http import Api, Office, open_office, serve
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import FakeEmbedder
from tests.fakes.orchestrator import ScriptedOrchestrator
from tests.fakes.planted import PlantedValue, plant_values

pytestmark = pytest.mark.postgres

COUNT, EACH = 200, 20
PLANTED = tuple(islice(plant_values(2026), COUNT))


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """All that our modules log, down to the last detail."""
    handler = logging.FileHandler(tmp_path / "aos.log")
    loggers = [logging.getLogger(name) for name in OURS]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    yield tmp_path / "aos.log"
    for logger, level in before:
        logger.removeHandler(handler)
        logger.setLevel(level)
    handler.close()


def kept_rows(admin_dsn: str) -> dict[str, str]:
    """Every row of every table, as text."""
    found = {}
    with psycopg.connect(admin_dsn) as connection:
        names = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
        for (name,) in names:
            rows = connection.execute(sql.SQL("select t::text from {} t").format(sql.Identifier(name))).fetchall()
            found[f"table {name}"] = "\n".join(row[0] for row in rows)
    return found


def kept_in_redis(url: str) -> str:
    """Every key with what it holds."""
    client, found = Redis.from_url(url), []
    for key in client.scan_iter():
        kind = client.type(key)
        read: dict[bytes, Callable[[Any], Any]] = {
            b"string": client.get,
            b"hash": client.hgetall,
            b"list": lambda k: client.lrange(k, 0, -1),
            b"set": client.smembers,
            b"zset": lambda k: client.zrange(k, 0, -1),
            b"stream": client.xrange,
        }
        found.append(repr((key, read[kind](key))))
    return "\n".join(found)


def planted_in(text: str) -> list[str]:
    """The values that stand in a text, also without the blanks and dashes between their groups."""
    bare = re.sub(r"(?<=\w)[ -](?=\w)", "", text)
    return [
        one.value
        for one in PLANTED
        if one.value in text or quote(one.value) in text or re.sub(r"[ -]", "", one.value) in bare
    ]


def scripted(values: tuple[PlantedValue, ...]) -> list[Say]:
    """A model that repeats what it was told: in a tool call, in one that waits for approval, and in its answer."""
    said = ". ".join(one.said for one in values)
    first = Use("search_knowledge", {"query": said})
    second = Use("http_get", {"url": f"http://127.0.0.1:9/?plain={said}&quoted={quote(said)}"})
    return [Say(calls=(first,)), Say(calls=(second,)), Say(f"I will remember that you said: {said}.")]


async def converse(api: Api, office: Office, model: ModelServer) -> list[UUID]:
    """Ten conversations with twenty values each; every action that waits is approved. The ids of their runs."""
    user, boss = [await api.sign_in(office.emails[role]) for role in (Role.VIEWER, Role.ADMIN)]
    runs = []
    for number in range(COUNT // EACH):
        values = PLANTED[number * EACH : (number + 1) * EACH]
        model.replies[:] = scripted(values)
        told = "Please remember this. " + ". ".join(one.said for one in values)
        body = {"message": f"/chat {told}", "session_id": f"s{number}", "stream": False}
        answer = await user.post("/api/chat/assistant", json=body)
        assert answer.status_code in (200, 202), answer.text
        (approval,) = (await boss.get("/api/approvals", params={"state": "pending"})).json()["items"]
        assert "[CARD " in json.dumps(approval["arguments"])
        foreign = {"decision": "approve", "arguments": {"url": "http://127.0.0.1:9/[EMAIL 999]"}}
        refused = await boss.post(f"/api/approvals/{approval['id']}", json=foreign)
        assert (refused.status_code, refused.json()["code"]) == (422, "foreign_placeholder"), refused.text
        edited = {**approval["arguments"], "url": "http://127.0.0.1:9/edited"} if number % 2 else None
        decision = {"decision": "approve", "arguments": edited, "notes": told}
        decided = await boss.post(f"/api/approvals/{approval['id']}", json=decision)
        assert decided.status_code == 200, decided.text
        assert planted_in(decided.text) == []
        listed = (await user.get("/api/runs", params={"mine": True, "limit": 1})).json()["items"]
        runs.append(UUID(listed[0]["id"]))
        async with asyncio.timeout(30):
            while (state := (await user.get(f"/api/runs/{runs[-1]}")).json()["state"]) != "completed":
                assert state != "failed"
                await asyncio.sleep(0.05)
        thumb = await user.post(f"/api/runs/{runs[-1]}/feedback", json={"thumb": "up", "word": told})
        assert thumb.status_code == 200 and planted_in(thumb.text) == []
    return runs


async def shown(api: Api, office: Office, runs: list[UUID]) -> dict[str, str]:
    """What the API shows to an administrator: traces, events, conversations, approvals, audit, exports, figures."""
    boss = await api.sign_in(office.emails[Role.ADMIN])
    paths = [f"/api/runs/{run}?full=true" for run in runs] + [f"/api/runs/{run}/events" for run in runs]
    paths += ["/api/runs", "/api/approvals", "/api/audit", "/api/documents/export", "/api/sessions", "/metrics"]
    found = {}
    for path in paths:
        answer = await boss.get(path)
        assert answer.status_code == 200, (path, answer.text)
        found[path] = answer.text
    return found


async def test_gv_04_nothing_of_what_is_planted_is_kept_anywhere(
    app_dsn: str,
    admin_dsn: str,
    redis_url: str,
    tmp_path: Path,
    log_file: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """GV-04: 200 values through messages, memory and tool calls: in no row, log, span, figure, cache and export. Each
    run is replayed byte for byte all the same, and one whose action waited was resumed."""
    office = open_office(admin_dsn)
    async with collecting() as collector:
        with serve_model(Say("ok")) as model:
            settings = load_settings(environment(app_dsn, redis_url, tmp_path, model, collector))
            parts = build_app_dependencies(settings, FakeEmbedder(), None, ScriptedOrchestrator)
            async with serve(parts) as api:
                runs = await converse(api, office, model)
                places = kept_rows(admin_dsn) | await shown(api, office, runs)
                user = await api.sign_in(office.emails[Role.VIEWER])
                for run in runs:
                    replayed = await user.post(f"/api/runs/{run}/replay", json={})
                    assert replayed.json()["same"] is True, replayed.text
                    assert planted_in(replayed.text) == []
                asked = json.dumps([one.body for one in model.chats], ensure_ascii=False)
                boss = await api.sign_in(office.emails[Role.ADMIN])
                model.replies[:] = [Say("No.")]
                other = await boss.post(f"/api/runs/{runs[0]}/replay", json={"prompt": "Say no."})
                diverged = other.json()["diverged"]
                assert diverged["now"] == "answer" and "[EMAIL " in str(diverged["recorded"]), other.text
                assert planted_in(other.text) == [], "what is sealed beside the run stays there"
                unmasked = await boss.post(f"/api/runs/{runs[0]}/unmask", json={"reason": "a test of the right"})
        places |= {f"collector {path}": repr(bodies) for path, bodies in collector.bodies.items()}
    places |= {"redis": kept_in_redis(redis_url)}
    places |= {f"file {path.name}": path.read_text(errors="replace") for path in files_in(tmp_path)}
    found = {place: values for place, text in places.items() if (values := planted_in(text))}
    record_property("planted values found", f"{len({v for vs in found.values() for v in vs})} of {COUNT}")
    assert found == {}
    assert len(planted_in(asked)) == COUNT, "the model was to be told everything"
    assert len(planted_in(unmasked.text)) == EACH
    assert "/v1/traces" in " ".join(collector.bodies) and "search_knowledge" in places["collector /v1/traces"]
    assert "[CARD " in places["table run_steps"] and len(places["table run_secrets"].splitlines()) >= COUNT
    assert "memory guard" in places["file aos.log"]
    audited = kept_rows(admin_dsn)["table audit"]
    assert "run.unmask" in audited and "a test of the right" in audited


def environment(app_dsn: str, redis_url: str, folder: Path, model: ModelServer, collector: Collector) -> dict[str, str]:
    return {
        "AOS_STATE_DIR": str(folder / "state"),
        "DATABASE_URL": app_dsn,
        "REDIS_URL": redis_url,
        "LLM_BASE_URL": model.url,
        "LLM_DEFAULT_MODEL": "scripted-1",
        "AOS_LLM_SUPPORTS_TOOLS": "true",
        "AOS_AGENTS_PLACEMENT": "inproc",
        "AOS_AGENTS_POLL_SECONDS": "0.1",
        "AOS_AGENTS_PLANNING_ENABLED": "false",
        "AOS_TELEMETRY_ENDPOINT": collector.url,
        "AOS_TELEMETRY_PROMPTS": "true",
    }


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
