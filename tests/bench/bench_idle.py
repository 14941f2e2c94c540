"""`make bench-idle`: memory and CPU of each part while nothing is asked of the product, and its starts in seconds."""

import argparse
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from cluster import connect
from cluster.state import supervised
from cluster.state.db import embedded
from configs.sections import Settings
from tests.evals.report import Report
from tests.instance import AOS, ROOT, Instance, instance

SECONDS = 300.0
LOOK_SECONDS = 10.0
SETTLE_SECONDS, MOST_SETTLE_SECONDS = 45.0, 300.0
STEADY_BYTES = 8 * 2**20  # between two looks, so much and no more
LIGHT_REST_SECONDS = "20"  # so that what is put away when nobody asks is away before it is measured
GIB, MIB = 2**30, 2**20
QUESTION = "What is written about the control room?"

MEMORY_GOAL = CPU_GOAL = "≤ 1.6 GiB and ≤ 6 % of one core over 5 minutes"
LIGHT_GOAL = "`--light` ≤ 1.2 GiB"
FIRST_GOAL, WARM_GOAL = "first start ≤ 5 min", "warm ≤ 30 s"

# What a command line begins with or holds, and the part that it is; the first that fits.
PARTS = (
    (supervised.MODULE, "supervisor"),
    ("core/src/ray/gcs/gcs_server", "GCS"),
    ("core/src/ray/raylet/raylet", "raylet"),  # with all that it begins in its arguments
    ("ray::ServeController", "Serve's controller"),
    ("ray::HAProxyManager", "HAProxy's manager"),
    ("ray::ProxyActor", "Serve's fallback proxy"),
    ("cluster.ray_daemons.serve_api", "Ray's dashboard"),
    ("ray-dashboard", "Ray's dashboard"),
    ("ray/dashboard/dashboard.py", "Ray's dashboard"),
    ("multiprocessing.forkserver", "Ray's dashboard"),
    ("cluster/ray_daemons/site/agent_stand_in.py", "Ray's agent"),
    ("ray::DashboardAgent", "Ray's agent"),
    ("ray/dashboard/agent.py", "Ray's agent"),
    ("ray::RuntimeEnvAgent", "Ray's environment agent"),
    ("runtime_env/agent/main.py", "Ray's environment agent"),
    ("ray::", "other Ray workers"),
    ("haproxy", "HAProxy"),
)
REPLICA = "ray::ServeReplica:"


@dataclass
class PartUse:
    """What the processes of one part held and used."""

    processes: int = 0
    pss: int = 0  # bytes: proportional, shared pages are counted once
    seconds: float = 0.0  # of CPU


@dataclass
class IdleUse:
    """Follows the processes of one instance; CPU of those that end meanwhile is counted as it was last seen."""

    settings: Settings
    first: dict[psutil.Process, float] = field(default_factory=dict)
    last: dict[psutil.Process, tuple[str, float]] = field(default_factory=dict)
    sums: list[dict[str, tuple[int, int]]] = field(default_factory=list)

    def look(self, *, begins: bool = False) -> int:
        """Note what every process has used up to now and holds now; returns the sum of what they hold, in bytes."""
        held: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for process, part in processes_by_part(self.settings).items():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                used, pss = process.cpu_times(), process.memory_full_info().pss
                seconds = float(used.user + used.system)
                if begins:
                    self.first[process] = seconds
                self.last[process] = (part, seconds)
                held[part] = (held[part][0] + 1, held[part][1] + pss)
        self.sums.append(dict(held))
        return sum(pss for _, pss in held.values())

    def by_part(self) -> Mapping[str, PartUse]:
        """Memory is the mean of the looks, processes are those of the last."""
        found: dict[str, PartUse] = defaultdict(PartUse)
        for process, (part, seconds) in self.last.items():
            found[part].seconds += seconds - self.first.get(process, 0.0)
        for held in self.sums:
            for part, (_, pss) in held.items():
                found[part].pss += pss // len(self.sums)
        for part, (count, _) in self.sums[-1].items():
            found[part].processes = count
        return dict(found)


def processes_by_part(settings: Settings) -> Mapping[psutil.Process, str]:
    """Every process that belongs to the instance, with its part."""
    found: dict[psutil.Process, str] = {}
    for name, server in embedded.servers_by_name(settings.state_dir).items():
        found |= dict.fromkeys(_family(server), "Valkey" if name == "redis" else "Postgres")
    supervisor = supervised.find_supervisor(settings.state_dir)
    for process in [supervisor, supervisor.parent()] if supervisor is not None else []:
        with suppress(psutil.Error):
            if process is not None and any(supervised.MODULE in word for word in process.cmdline()):
                found[process] = "supervisor"
    ours = connect.ray_processes(settings.state_dir)
    for process in ours:
        with suppress(psutil.Error):
            found.setdefault(process, part_of(_lines_of(process)))
    return found


def part_of(lines: Iterable[str]) -> str:
    """The part of a process by its command line and those of its parents, the nearest first."""
    own, *above = lines
    if own.startswith(REPLICA):
        return _application(own)
    for mark, part in PARTS:
        if own.startswith(mark) or mark in own:
            return part
    for line in above:  # a replica's child has no title of its own
        if line.startswith(REPLICA):
            return f"{_application(line)}: its children"
    return "others"


def _application(title: str) -> str:
    return title.removeprefix(REPLICA).split(":")[0]


def _lines_of(process: psutil.Process) -> list[str]:
    return [" ".join(one.cmdline()) for one in (process, *process.parents())]


def _family(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def use_once(product: Instance) -> None:
    """A document and a question, as a day begins: what is made on first use is there, or put away again."""
    data = (ROOT / "tests/samples/control-room.md").read_bytes()
    sent = product.http.post("/api/documents/upload", files={"file": ("control-room.md", data, "text/markdown")})
    sent.raise_for_status()
    product.wait(sent.json()["job_id"], 180)
    found = ask(product, QUESTION)
    if "control-room" not in str(found["results"]):
        raise RuntimeError(f"the document is not found: {found}")


def ask(product: Instance, question: str) -> dict[str, Any]:
    """Search by words and meaning, worked out anew."""
    body = {"query": question, "limit": 3, "cache": False, "rerank": False}
    reply = product.http.post("/api/documents/search", json=body)
    reply.raise_for_status()
    found: dict[str, Any] = reply.json()
    return found


def wake(report: Report, product: Instance, name: str) -> None:
    """What who comes after the idle time waits for."""
    began = time.monotonic()
    found = ask(product, "Who may enter the control room?")
    seconds = time.monotonic() - began
    left_out = found["fallback"] or "nothing"
    report.figure(f"{name}first question after it", seconds, unit="s", reference=f"left out: {left_out}")
    began = time.monotonic()
    page = product.http.get("/console/", follow_redirects=True)
    seconds = time.monotonic() - began
    report.figure(f"{name}console's first page after it", seconds, unit="s", reference=f"status {page.status_code}")


def wait_until_calm(product: Instance, seconds: float = MOST_SETTLE_SECONDS) -> None:
    """Until no job waits or runs, and memory has stopped to change."""
    deadline, before = time.monotonic() + seconds, 0
    while time.monotonic() < deadline:
        (waiting,) = product.rows("select count(*) from jobs where state in ('queued', 'running')")
        held = IdleUse(product.settings).look()
        if waiting[0] == 0 and abs(held - before) < STEADY_BYTES:
            return
        before = held
        time.sleep(SETTLE_SECONDS)
    print(f"memory has not settled in {seconds:g} s: it is measured as it is", file=sys.stderr)


def warm_start(product: Instance) -> float:
    """Seconds of `aos up` on a state that is there, after `aos down`."""
    subprocess.run([AOS, "down"], env=product.env, capture_output=True, timeout=180, check=True)
    began = time.monotonic()
    subprocess.run([AOS, "up"], env=product.env, capture_output=True, timeout=600, check=True)
    return time.monotonic() - began


def measure(report: Report, seconds: float, *, light: bool) -> None:
    """One instance: its first start, its warm start, and its idle time."""
    name = "light, " if light else ""
    more = {"AOS_PROFILE": "light", "AOS_LIGHT_REST_SECONDS": LIGHT_REST_SECONDS} if light else {}
    with instance(**more) as product:
        warm = warm_start(product)
        use_once(product)
        wait_until_calm(product)
        use = IdleUse(product.settings)
        use.look(begins=True)
        began = time.monotonic()
        while (left := began + seconds - time.monotonic()) > 0:
            time.sleep(min(LOOK_SECONDS, left))
            use.look()
        took = time.monotonic() - began
        parts = use.by_part()
        print_parts(parts, took)
        wake(report, product, name)
    held = sum(one.pss for one in parts.values()) / GIB
    core = 100 * sum(one.seconds for one in parts.values()) / took
    most, memory_goal = (1.2, LIGHT_GOAL) if light else (1.6, MEMORY_GOAL)
    whole = took >= SECONDS  # less is no answer to what is asked of five minutes
    report.figure(f"{name}memory, idle", held, unit="GiB", goal=memory_goal, holds=held <= most and whole)
    report.figure(f"{name}CPU, idle", core, unit="% of a core", goal=CPU_GOAL, holds=core <= 6 and whole)
    report.figure(f"{name}first start", product.up_seconds, unit="s", goal=FIRST_GOAL, holds=product.up_seconds <= 300)
    report.figure(f"{name}warm start", warm, unit="s", goal=WARM_GOAL, holds=warm <= 30)
    for part, one in sorted(parts.items(), key=lambda item: -item[1].pss):
        report.figure(f"{name}{part}: memory", one.pss / MIB, unit="MiB", reference=f"{one.processes} processes")
        report.figure(f"{name}{part}: CPU", 100 * one.seconds / took, unit="% of a core")


def print_parts(parts: Mapping[str, PartUse], took: float) -> None:
    """A line for each part, the largest first."""
    table = Table(title=f"idle for {took:.0f} s")
    for column in ("part", "processes", "MiB", "CPU s", "% of a core"):
        table.add_column(column, justify="left" if column == "part" else "right")
    for part, one in sorted(parts.items(), key=lambda item: -item[1].pss):
        share = f"{100 * one.seconds / took:.2f}"
        table.add_row(part, str(one.processes), f"{one.pss / MIB:.0f}", f"{one.seconds:.2f}", share)
    Console(width=100).print(table)


def main() -> int:
    """Measure the default, and with `--light` that instead."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long it is left alone")
    parser.add_argument("--light", action="store_true", help="the profile light alone")
    parser.add_argument("--default", action="store_true", help="the profile dev alone")
    options = parser.parse_args()
    alone = options.light or options.default
    report = Report("bench-idle", part=alone or options.seconds < SECONDS)
    for light in (False, True):
        if not alone or light == options.light:
            measure(report, options.seconds, light=light)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
