"""Agents on a pool of five connections: a hundred streams at once, the way to the first event, the loop's own time."""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import psycopg

from cluster.basics.scope import Role
from cluster.connect import free_port
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from configs.settings import load_settings
from serve_apps.agents.turn.general_path import run_conversation
from tests.bench import agent_servers
from tests.evals.report import Report
from tests.fakes.agents import MemoryJournal, ScriptedModels, calls, turn
from tests.fakes.crew import FakeTool, crew
from tests.fakes.http import PASSWORD, open_office

STREAMS = 100
SINGLE = 40  # one after the other, on each server
ROUNDS = 10
STATISTICS = 11.0  # seconds after which Postgres has counted the transactions of a connection that is idle
GOAL = (
    "100 concurrent streams with a database pool of 5; p50 time-to-first-event overhead (scripted model with 0 ms"
    " latency) printed against plain uvicorn + the same loop, and the loop's own time per round."
)


@dataclass(frozen=True)
class Heard:
    """One stream as its client had it; seconds from the moment it began to connect."""

    number: int
    status: int
    first: float
    content: float
    end: float
    text: str
    last: str

    @property
    def whole(self) -> bool:
        """Every character once, and a proper end."""
        return (self.status, self.last, self.text) == (200, "done", agent_servers.answer(self.number))


async def hear(port: int, path: str, token: str, number: int) -> Heard:
    """One question over a connection of its own."""
    body = json.dumps({"message": agent_servers.question(number), "stream": True}).encode()
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        "",
        "",
    )
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer):
        writer.write("\r\n".join(lines).encode() + body)
        raw, first, content = b"", 0.0, 0.0
        while piece := await reader.read(65536):
            now = time.perf_counter() - began
            raw += piece
            first = first or (now if b"\ndata: " in raw else 0.0)
            content = content or (now if b"event: content\n" in raw else 0.0)
    head, _, chunked = raw.partition(b"\r\n\r\n")
    events = list(_events(_joined(chunked)))
    text = "".join(one["content"] for one in events if one["type"] == "content")
    last = str(events[-1]["type"]) if events else chunked.decode(errors="replace")
    return Heard(number, int(head.split()[1]), first, content, time.perf_counter() - began, text, last)


def _joined(chunked: bytes) -> bytes:
    """A body without the marks of its chunks (RFC 9112, 7.1); one that is not chunked has no events."""
    found = b""
    while chunked:
        size, _, rest = chunked.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            break
        found, chunked = found + rest[:length], rest[length + 2 :]
    return found


def _events(body: bytes) -> Iterator[dict[str, str]]:
    for block in body.decode().split("\n\n"):
        for line in block.splitlines():
            if line.startswith("data: "):
                yield json.loads(line[6:])


@dataclass(frozen=True)
class Target:
    """A server that is asked."""

    name: str
    port: int
    path: str
    token: str = ""

    async def one(self, number: int) -> Heard:
        """A single stream."""
        return await hear(self.port, self.path, self.token, number)

    async def crowd(self, first: int) -> tuple[list[Heard], float]:
        """All streams at once, and how long the last took."""
        began = time.perf_counter()
        heard = await asyncio.gather(*(self.one(first + at) for at in range(STREAMS)))
        return list(heard), time.perf_counter() - began


async def compare(report: Report, admin: str, product: Target, plain: Target, rounds: int) -> None:
    """Both in turn, so that they meet the same load of the machine."""
    for target in (product, plain):
        await _warm(target)
    single: dict[str, list[Heard]] = {product.name: [], plain.name: []}
    for number in range(SINGLE):
        for target in (product, plain):
            single[target.name].append(await target.one(number))
    crowds: dict[str, list[Heard]] = {product.name: [], plain.name: []}
    seconds: dict[str, list[float]] = {product.name: [], plain.name: []}
    for at in range(rounds):
        for target in (product, plain):
            heard, taken = await target.crowd(1000 * (at + 1))
            crowds[target.name] += heard
            seconds[target.name].append(taken)
    heard = [*crowds[product.name], *single[product.name]]
    broken = [one for one in heard if not one.whole]
    for one in broken[:3]:
        print(f"stream {one.number}: {one.status} {one.last[:300]} with {len(one.text)} characters", file=sys.stderr)
    complete = sum(one.whole for one in crowds[product.name])
    report.figure(
        f"streams of {STREAMS} at once that end with the whole answer, {rounds} times",
        complete,
        reference=STREAMS * rounds,
        goal=GOAL,
        holds=not broken,
    )
    for name in (product.name, plain.name):
        report.figure(f"{STREAMS} streams at once, {name}", float(np.median(seconds[name])), unit="s")
    for label, at in (("one stream", single), (f"{STREAMS} streams", crowds)):
        for what in ("first", "content", "end"):
            _tell(report, label, what, at[product.name], at[plain.name])
    counted = await transactions(admin, product)
    report.figure("database transactions for one turn, its request and its answer", counted)


def _tell(report: Report, label: str, what: str, ours: Sequence[Heard], theirs: Sequence[Heard]) -> None:
    name = {"first": "first event", "content": "first content", "end": "end"}[what]
    for share in (50, 95):
        mine = float(np.percentile([getattr(one, what) for one in ours], share)) * 1000
        other = float(np.percentile([getattr(one, what) for one in theirs], share)) * 1000
        report.figure(f"{label}: to the {name}, p{share}", mine, unit="ms", reference=f"plain {other:.1f} ms")
        if what == "first" and share == 50:
            report.figure(f"{label}: overhead to the first event, p50", mine - other, unit="ms")


async def _warm(target: Target) -> None:
    """Imports, connections, caches."""
    until = time.monotonic() + 60
    while True:
        try:
            heard = await target.one(1)
            assert heard.whole, heard
            break
        except OSError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.1)
    for number in range(2, 8):
        await target.one(number)


async def transactions(admin: str, product: Target) -> float:
    """Those that end while STREAMS turns are carried out, less what the product does when nobody asks, for one turn."""
    counts = [await asyncio.to_thread(_ended, admin)]
    for busy in (False, True):
        began = time.monotonic()
        if busy:
            await product.crowd(100_000)
        await asyncio.sleep(2 * STATISTICS - (time.monotonic() - began))
        counts.append(await asyncio.to_thread(_ended, admin))
    idle, busy_ = counts[1] - counts[0], counts[2] - counts[1]
    return (busy_ - idle) / STREAMS


def _ended(admin: str) -> int:
    with psycopg.connect(admin) as connection:
        row = connection.execute(
            "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])


def loop_rounds(report: Report, times: int = 40) -> None:
    """The loop alone: a scripted reply without a wire, a tool that does nothing, a journal in memory."""

    async def once() -> tuple[float, float]:
        lines = [calls(("note", {"text": f"line {at}"})) for at in range(ROUNDS - 1)]
        made = crew(ScriptedModels(*lines, "All is noted: nine lines."), FakeTool())
        began, used = time.perf_counter(), time.process_time()
        outcome = await run_conversation(turn("Note nine lines."), MemoryJournal(), made)
        taken, used = time.perf_counter() - began, time.process_time() - used
        assert outcome.answer == "All is noted: nine lines.", outcome
        return taken / ROUNDS * 1000, used / ROUNDS * 1000

    async def every() -> list[tuple[float, float]]:
        return [await once() for _ in range(times)]

    taken = asyncio.run(every())[2:]
    for share in (50, 95):
        wall, used = np.percentile(taken, share, axis=0)
        cpu = f"{used:.2f} ms of CPU"
        report.figure(f"the loop's own time per round, p{share}", float(wall), unit="ms", reference=cpu)


@contextmanager
def process(*arguments: str) -> Iterator[None]:
    """A role of agent_servers; ended with the block."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.agent_servers", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        started.terminate()
        try:
            started.wait(20)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def run(report: Report, state: Path, rounds: int) -> None:
    """Start the servers, then compare."""
    found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
    admin = found.postgres_admin or ""
    asyncio.run(apply_migrations(admin))
    office = open_office(admin)
    model, ours, theirs = (free_port() for _ in range(3))
    url = f"http://127.0.0.1:{model}/v1"
    with (
        process("model", str(model)),
        process("product", str(ours), str(state), url),
        process("plain", str(theirs), url),
    ):
        token = _token(ours, office.emails[Role.OPERATOR])
        product = Target("the product", ours, "/api/chat/assistant", token)
        asyncio.run(compare(report, admin, product, Target("plain uvicorn and the same loop", theirs, "/"), rounds))


def _token(port: int, email: str) -> str:
    until = time.monotonic() + 60
    while True:
        try:
            body = {"email": email, "password": PASSWORD}
            reply = httpx.post(f"http://127.0.0.1:{port}/api/auth/login", json=body, timeout=30)
            reply.raise_for_status()
            return str(reply.json()["access_token"])
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def measure(report: Report, rounds: int = 3) -> None:
    """The loop alone, then both servers over an embedded Postgres and Valkey; nothing is left."""
    loop_rounds(report)
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        run(report, state, rounds)
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)
