"""What a script behind the fence costs, beside a bare `python -c` in the same minute."""

import asyncio
import statistics
import subprocess
import sys
import time

from configs.sections_skills import SandboxSettings
from skills.sandbox.fence import Sandbox
from tests.evals.report import Report

ROUNDS = 40
SCRIPT = "def run(payload):\n    return {'sum': sum(payload['numbers'])}\n"
PAYLOAD = {"numbers": [1, 2, 3]}


def measure(report: Report) -> None:
    """Add the figures of single calls, cold and warm, and of calls in a row."""
    asyncio.run(_measure(report))


async def _measure(report: Report) -> None:
    bare, warm, cold = [], [], []
    async with Sandbox(SandboxSettings()) as ready, Sandbox(SandboxSettings(warm=0)) as empty:
        # By turns, so that whatever else this machine does falls on all of them alike.
        for _ in range(ROUNDS):
            bare.append(_timed_bare())
            await ready.fill()
            warm.append(await _timed(ready))
            await ready.fill()
            cold.append(await _timed(empty))
    middle = {name: statistics.median(times) for name, times in (("bare", bare), ("warm", warm), ("cold", cold))}
    ratio = middle["warm"] / middle["bare"]
    report.figure("a call on a waiting interpreter", 1000 * middle["warm"], unit="ms", reference=1000 * middle["bare"])
    report.figure(
        "a call beside a bare `python -c pass`",
        ratio,
        unit="x",
        reference=f"python -c: {1000 * middle['bare']:.1f} ms",
        goal="bench prints a call's cost beside a bare `python -c` (aim ≤ 0.5×)",
        holds=ratio <= 0.5,
    )
    report.figure("a call on a cold interpreter", middle["cold"] / middle["bare"], unit="x", reference="python -c")
    async with Sandbox(SandboxSettings()) as row:
        await row.fill()
        began = time.perf_counter()
        for _ in range(ROUNDS):
            await _timed(row)
        in_a_row = time.perf_counter() - began
    began = time.perf_counter()
    for _ in range(ROUNDS):
        _timed_bare()
    ratio = in_a_row / (time.perf_counter() - began)
    report.figure("calls in a row, each waits for the next interpreter", ratio, unit="x", reference="python -c")


async def _timed(sandbox: Sandbox) -> float:
    began = time.perf_counter()
    outcome = await sandbox.run(SCRIPT, PAYLOAD)
    took = time.perf_counter() - began
    assert outcome.value == {"sum": 6}
    return took


def _timed_bare() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began
