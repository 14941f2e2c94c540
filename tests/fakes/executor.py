"""An executor as a process of its own, to be killed: it carries out runs on a real Postgres and leaves marks."""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from cluster.basics.telemetry import Telemetry
from cluster.models.messages import ModelReply, ReplyDelta
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.work.runs import RunLedger
from configs.sections import AgentSettings
from serve_apps.agents.durable.run_loop import RunTiming, TurnRunner
from serve_apps.agents.intake.turn import load_turn
from serve_apps.agents.turn_ports import Journal, RedoPolicy, Said, Turn, TurnHandler, TurnOutcome, TurnPath
from tests.fakes.marks import Marks
from tests.fakes.runs import acting, remember

Process: TypeAlias = "subprocess.Popen[str]"


class Outside:
    """Acts slowly enough to be killed in the middle."""

    def __init__(self, marks: Marks, redo: RedoPolicy, seconds: float) -> None:
        self._marks, self._redo, self._seconds = marks, redo, seconds

    async def act(self, run: str, key: str, arguments: Any) -> Any:
        await asyncio.sleep(self._seconds / 2)
        self._marks.leave(arguments["to"], key if self._redo is RedoPolicy.REPEAT else None)
        await asyncio.sleep(self._seconds / 2)
        return {"done": True}

    async def say(self, reply: ModelReply) -> AsyncIterator[Said]:
        for at in range(0, len(reply.content), 3):
            await asyncio.sleep(self._seconds / 20)
            yield ReplyDelta(reply.content[at : at + 3])
        await asyncio.sleep(self._seconds / 4)
        yield reply


def by_label(marks: Marks, seconds: float) -> TurnHandler:
    """`keyed-...` is done by a tool that takes a key, anything else by one that takes none."""

    async def handle(turn: Turn, journal: Journal) -> TurnOutcome:
        redo = RedoPolicy.REPEAT if turn.message.startswith("keyed") else RedoPolicy.RECONCILE
        return await acting(Outside(marks, redo, seconds), redo)(turn, journal)

    return handle


async def serve(options: argparse.Namespace) -> None:
    """Carry `--run` out for a reader, if one is named, and whatever waits in the background."""
    database = Database(options.app, size=5)
    await database.open()
    runs = RunLedger(database)
    settings = AgentSettings(lease_seconds=options.lease, heartbeat_seconds=options.lease / 4, poll_seconds=0.05)
    handler = by_label(Marks(FilePath(options.marks)), options.seconds)
    runner = TurnRunner(
        runs,
        ApprovalStore(database, AuditLog(database)),
        dict.fromkeys(TurnPath, handler),
        settings,
        owner=f"executor:{os.getpid()}",
        timing=RunTiming(time.monotonic, lambda: datetime.now(UTC)),
        remember=remember,
        audit=AuditLog(database),
        telemetry=Telemetry.off(),
    )
    if options.run:
        scope_of, _, run = options.run.partition("/")
        turn = load_turn((await runs.load(_scope(*scope_of.split(":")), run)).input)
        async for event in runner.run(turn, await runner.claim(turn)):
            print("piece" if event.piece else event.kind, flush=True)
    else:
        print("ready", flush=True)
        await runner.sweep(asyncio.Event())
    await database.close()


def _scope(tenant: str, workspace: str) -> Any:
    from tests.fakes.ledger import worker_scope

    return worker_scope(tenant, workspace)


def start(app: str, marks: Marks, *, run: str = "", lease: float = 1.0, seconds: float = 0.4) -> Process:
    """Start one; it says `ready`, or the kinds of the events of its run (`tenant:workspace/run`)."""
    options = {"app": app, "marks": marks.folder, "run": run, "lease": lease, "seconds": seconds}
    command = [sys.executable, "-m", "tests.fakes.executor", *(f"--{k}={v}" for k, v in options.items())]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def wait_for(process: Process, wanted: Callable[[str], bool]) -> None:
    """Read what it says until that is said."""
    assert process.stdout is not None
    for line in process.stdout:
        if wanted(line.strip()):
            return
    raise AssertionError("it ended before it said so")


def main() -> None:
    """Run until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("app", "marks", "run"):
        parser.add_argument(f"--{name}", default="")
    for name in ("lease", "seconds"):
        parser.add_argument(f"--{name}", type=float)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
