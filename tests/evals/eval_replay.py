"""Records turns of many kinds through the real desk, then replays them: every event byte for byte, and no network."""

import asyncio
import multiprocessing
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.state.agent_store import NewAgent
from cluster.state.approvals import ReviewVerdict
from cluster.state.canonical_json import dump_canonical
from cluster.state.db import embedded
from cluster.state.db.migrate import apply_migrations
from cluster.state.work.run_queries import RunQueries
from configs.settings import load_settings
from serve_apps.agents.events import Event
from serve_apps.agents.intake.turn_intake import TurnIntake
from serve_apps.agents.turn_ports import IncomingMessage, RunId
from serve_apps.agents.turn_ports import TurnPath as Way
from serve_apps.wiring.agents import Container, TurnRuntime, build_container, build_turn_intake
from tests.evals import replay_cases
from tests.evals.replay_cases import Case
from tests.evals.report import Report
from tests.fakes import agents_contract as contract
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import FakeEmbedder

GOAL = (
    "Replay of 20 varied runs: byte-identical events. Kill −9 of the executor mid-turn: the turn ends in a clear"
    " state and can be resumed."
)
THEIR_LAMP = {"name": "their_lamp", "description": "Switches a lamp.", "parameters": {"type": "object"}}


class Connected:
    """Addresses that this process connects to, as the interpreter tells its auditors; libpq's are not among them."""

    def __init__(self) -> None:
        """Listens from now on, for as long as the process lives."""
        self.addresses: list[Any] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect" and args[0].family in (socket.AF_INET, socket.AF_INET6):
            self.addresses.append(args[1])


class Recorder:
    """Carries a case out as its users would."""

    def __init__(self, bench: contract.Bench, admin: str, env: Mapping[str, str]) -> None:
        """`bench` holds the real desk; `admin` may let time pass for what waits; `env` is for a process of its own."""
        self._bench, self._admin, self._env = bench, admin, env

    async def record(self, case: Case) -> str:
        """The run's id, as soon as it has ended as the case says."""
        bench = self._bench
        bench.model.replies[:] = list(case.replies) or [Say("nobody asks")]
        options = {"tools": [THEIR_LAMP]} if case.tools else {}
        events = bench.orchestrator.process(bench.scope, IncomingMessage(case.agent, case.message, options=options))
        match case.way:
            case "through":
                run = await self._read(events)
            case "killed":
                run = await self._killed(case)
            case _:
                run = await self._broken_off(events, case)
        for said in case.decide:
            await bench.state(run, "waiting")
            (row,), _ = await bench.approvals.page(bench.scope, state="pending", run=run)
            await self._decide(str(row["id"]), said)
        await bench.state(run, case.ends, seconds=60)
        return run

    async def _read(self, events: AsyncIterator[Event]) -> str:
        run = ""
        async for event in events:
            run = str(event.data.get("run_id", run))
        return run

    async def _broken_off(self, events: AsyncIterator[Event], case: Case) -> str:
        run = ""
        async for event in events:
            run = str(event.data.get("run_id", run))
            if event.piece:
                break
        if case.way == "interrupted":
            await events.aclose()  # type: ignore[attr-defined]
            await self._bench.state(run, "interrupted")
            events = self._bench.orchestrator.resume(self._bench.scope, RunId(run))
        else:
            await self._bench.orchestrator.cancel(self._bench.scope, RunId(run))
        async for _ in events:
            pass
        return run

    async def _killed(self, case: Case) -> str:
        """SIGKILL for the process that carries it out, while the model writes; resumed here when its lease is over."""
        model, asked = self._bench.model, len(self._bench.model.chats)
        arguments = (self._env, self._bench.scope, case.message)
        process = multiprocessing.get_context("spawn").Process(target=carry, args=arguments)
        process.start()
        await asyncio.to_thread(model.arrived, asked + len(case.replies) - 1, 60)
        await asyncio.sleep(0.3)
        process.kill()
        await asyncio.to_thread(process.join)
        with psycopg.connect(self._admin) as connection:
            row = connection.execute("select id from runs order by created_at desc limit 1").fetchone()
        assert row is not None
        run = str(row[0])
        await self._bench.state(run, "interrupted")
        await self._read(self._bench.orchestrator.resume(self._bench.scope, RunId(run)))
        return run

    async def _decide(self, approval: str, said: Any) -> None:
        if said is None:
            with psycopg.connect(self._admin) as connection:
                connection.execute(
                    "update approvals set expires_at = now() - interval '1 s' where id = %s", (approval,)
                )
            return
        verdict = said if isinstance(said, ReviewVerdict) else ReviewVerdict.APPROVED
        edited = None if isinstance(said, ReviewVerdict) else said
        await self._bench.approvals.decide(self._bench.scope, approval, verdict, arguments=edited)


@contextmanager
def place() -> Iterator[tuple[Path, str]]:
    """Embedded servers of their own: their folder and the owner's address; nothing is left."""
    state = Path(tempfile.mkdtemp(prefix="aos-"))
    try:
        found = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
        admin = found.postgres_admin or ""
        asyncio.run(apply_migrations(admin))
        yield state, admin
    finally:
        embedded.stop_servers(state)
        shutil.rmtree(state, ignore_errors=True)


@asynccontextmanager
async def shop(env: Mapping[str, str]) -> AsyncIterator[tuple[Container, TurnRuntime, TurnIntake]]:
    """What carries turns out."""
    settings = load_settings(env)
    base = build_container(settings, FakeEmbedder(), None)
    workshop = TurnRuntime(settings, base)
    await base.database.open()
    try:
        yield base, workshop, build_turn_intake(settings, base, dict.fromkeys(Way, workshop.carrier))
    finally:
        await base.close()
        await base.database.close()


def carry(env: Mapping[str, str], scope: Scope, message: str) -> None:
    """An executor of its own, to be killed."""

    async def until_killed() -> None:
        async with shop(env) as (_, _, way_in):
            async for _event in way_in.process(scope, IncomingMessage("", message)):
                pass

    asyncio.run(until_killed())


async def record(
    env: Mapping[str, str], admin: str, site: str, model: ModelServer
) -> tuple[contract.Bench, dict[str, str]]:
    """Carry every case out; the ids of their runs by name."""
    scope = contract.person(admin)
    with psycopg.connect(admin, autocommit=True) as connection:
        generation = corpus.open_generation(connection, scope)
        passage = Passage(replay_cases.PAGE, vector=hash_vector(replay_cases.PAGE))
        corpus.load(connection, scope, generation, [Book("hall.txt", [passage])])
    async with shop(env) as (base, workshop, way_in):
        for name, config in replay_cases.AGENTS.items():
            async with base.database.transaction(scope) as tx:
                await base.agents.add(tx, scope, NewAgent(name, "Helps.", "Help.", config=config))
        await workshop.open()
        try:
            bench = contract.Bench(
                way_in, RunQueries(base.database, base.governance.seals), base.approvals, model, site, scope
            )
            recorder, runs = Recorder(bench, admin, env), {}
            for case in replay_cases.cases(site):
                try:
                    runs[case.name] = await recorder.record(case)
                except (AosError, TimeoutError) as error:
                    print(f"{case.name}: {error!r}", file=sys.stderr)
        finally:
            await workshop.close()
    return bench, runs


async def replay(
    report: Report,
    env: Mapping[str, str],
    bench: contract.Bench,
    runs: dict[str, str],
    other: ModelServer,
    connected: Connected,
) -> None:
    """Replay all in another workshop, without and with another model."""
    asked = len(bench.model.requests), len(other.requests)
    async with shop(env) as (base, workshop, _):
        kept, same, told = RunQueries(base.database, base.governance.seals), 0, set()
        await workshop.replays.replay(bench.scope, next(iter(runs.values())))
        before = len(connected.addresses)
        for case in replay_cases.cases(bench.site):
            found = await workshop.replays.replay(bench.scope, runs[case.name]) if case.name in runs else None
            events = await kept.events_after(bench.scope, runs[case.name], 0, 10_000) if found else []
            kinds = {str(row["type"]) for row in events}
            told.add(
                dump_canonical([[row["type"], row["payload"]] for row in events]).replace(runs.get(case.name, "-"), "")
            )
            good = found is not None and found["same"] and kinds >= set(case.holds)
            same += good
            if not good:
                print(f"{case.name}: {sorted(kinds)} {found and found['diverged']}", file=sys.stderr)
            report.figure(f"{case.name}: events replayed", len(events) if good else None, holds=good)
        requests = len(bench.model.requests) - asked[0] + len(other.requests) - asked[1]
        opened = len(connected.addresses) - before
        total = len(replay_cases.cases(bench.site))
        quiet = requests == opened == 0
        report.figure(
            "varied runs whose replay tells the same bytes, without any network",
            same,
            reference=total,
            goal=GOAL,
            holds=same == total == len(told) and total >= 20 and quiet,
        )
        report.figure("requests to models while replaying", requests, reference=0, holds=requests == 0)
        report.figure("network connections while replaying", opened, reference=0, holds=opened == 0)
        await _with_others(report, bench, workshop, kept, runs["several tools"], other)


async def _with_others(
    report: Report, bench: contract.Bench, workshop: TurnRuntime, kept: RunQueries, run: str, other: ModelServer
) -> None:
    """`--with`: the first step where another model, or the same with another prompt, decides otherwise."""
    steps = [row["seq"] for row in await kept.steps(bench.scope, run) if row["kind"] == "model"]
    both = Say(calls=(replay_cases.add(1, 2), Use("get_time", {"timezone": "UTC"})))
    for name, replies, expected in (
        ("the same decisions", [both, Say(calls=(replay_cases.add(3, 4),)), Say("In other words.")], None),
        ("another second decision", [both, Say("3, that will do.")], steps[1]),
        ("another first decision", [Say("I would rather not.")], steps[0]),
    ):
        for with_, server, change in (
            ("model", other, {"model": "other"}),
            ("prompt", bench.model, {"prompt": "Be brief."}),
        ):
            server.replies[:] = list(replies)
            found = await workshop.replays.replay(bench.scope, run, **change)
            step = (found["diverged"] or {}).get("step")
            report.figure(
                f"--with {with_}, {name}: first step that diverges",
                "none" if step is None else step,
                reference="none" if expected is None else expected,
                holds=step == expected,
            )


def main() -> int:
    """Record, replay, report."""
    connected = Connected()
    report = Report("eval-replay")
    with place() as (state, admin), contract.page() as site, serve_model() as model, serve_model() as other:
        env = replay_cases.environment(state, site, model.url, other.url)
        bench, runs = asyncio.run(record(env, admin, site, model))
        asyncio.run(replay(report, env, bench, runs, other, connected))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
