"""Every part of the product killed, and stopped: how soon all is well again, and what clients are told meanwhile."""

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from cluster import connect, deploy
from cluster.basics.errors import AosError
from cluster.state import supervised
from cluster.state.db import embedded
from cluster.watch.memory import use_now
from tests.evals.report import Report
from tests.instance import Instance

GOAL = (
    "`make test-kill` with HAProxy, controller, gateway, embedder (kill and stop), raylet, GCS, supervisor, a memory "
    "hog beside it: page-exact, back in the times above, 0 answers 404."
)
SOON, LATER = 30.0, 60.0  # seconds: of a part that Serve replaces, and of one that takes all of Ray with it
HOW = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}
READER = "MapWorker(MapBatches(_Read))"
HOG_SECONDS = 15.0
HOG = """import sys, time
held = bytearray(int(sys.argv[1]))
held[::4096] = b"x" * len(held[::4096])
print("held", flush=True)
time.sleep(600)
"""
Find = Callable[[Instance], list[psutil.Process]]


def titled(part: str) -> Find:
    """Processes of the instance's Ray whose title has these words."""

    def find(made: Instance) -> list[psutil.Process]:
        return [one for one in connect.ray_processes(made.settings.state_dir) if part in title(one)]

    return find


def title(process: psutil.Process) -> str:
    """What it calls itself."""
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def of_head(name: str) -> Find:
    """One of the head's daemons."""
    return lambda made: [one for key, one in connect.head_processes(made.settings.state_dir).items() if key == name]


def supervisor(made: Instance) -> list[psutil.Process]:
    """The one that watches."""
    found = supervised.find_supervisor(made.settings.state_dir)
    return [] if found is None else [found]


def of_server(name: str) -> Find:
    """An embedded server with all that it has begun."""

    def find(made: Instance) -> list[psutil.Process]:
        found = embedded.servers_by_name(made.settings.state_dir)
        return [one for key, server in found.items() if key == name for one in family(server)]

    return find


def family(process: psutil.Process) -> list[psutil.Process]:
    """It, and what it has begun; nobody where it has ended meanwhile."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def starting_readers(made: Instance) -> list[psutil.Process]:
    """Readers that import still: nobody can ask them."""
    folder = connect.liveness_folder(made.settings.state_dir)
    return [one for one in titled(READER)(made) if not (folder / f"reader-{one.pid}.sock").exists()]


PARTS: dict[str, tuple[Find, float, tuple[str, ...]]] = {
    "HAProxy": (lambda made: connect.proxy_processes(made.settings.state_dir), SOON, ("killed", "stopped")),
    "controller": (titled("ray::ServeController"), SOON, ("killed", "stopped")),
    "gateway": (titled("ServeReplica:gateway"), SOON, ("killed", "stopped")),
    "embedder": (titled("ServeReplica:embedding"), SOON, ("killed", "stopped")),
    "reader": (titled(READER), SOON, ("stopped",)),
    "reader that starts": (starting_readers, SOON, ("stopped",)),
    "supervisor": (supervisor, SOON, ("killed",)),
    "Postgres": (of_server("postgres"), SOON, ("stopped",)),
    "Valkey": (of_server("redis"), SOON, ("stopped",)),
    "raylet": (of_head("raylet"), LATER, ("killed", "stopped")),
    "GCS": (of_head("gcs_server"), LATER, ("killed", "stopped")),
}


@dataclass
class Clients:
    """Somebody who asks four times a second, whatever else goes on, and notes what he is told."""

    made: Instance
    over: threading.Event = field(default_factory=threading.Event)
    told: Counter[str] = field(default_factory=Counter)
    bare: int = 0  # answers 503 without Retry-After, or not as a problem

    def ask(self) -> None:
        """Until it is over."""
        url = str(self.made.http.base_url)
        while not self.over.wait(0.25):
            try:
                reply = httpx.get(f"{url}/health", timeout=5)
            except httpx.HTTPError as error:
                self.told[type(error).__name__] += 1
                continue
            self.told[str(reply.status_code)] += 1
            if reply.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                is_problem = reply.headers["content-type"] == "application/problem+json"
                self.bare += not (is_problem and "retry-after" in reply.headers)


def is_well(made: Instance) -> bool:
    """The API answers, questions are embedded, and Serve has all that it wants."""
    body = {"query": "harbour bridge", "strategy": "vector", "rerank": False, "cache": False}
    try:
        reply = made.http.post("/api/documents/search", json=body, timeout=5)
        found = deploy.list_applications(connect.ray_dashboard(made.settings))
    except (httpx.HTTPError, AosError):
        return False
    embedded = reply.status_code == httpx.codes.OK and reply.json()["fallback"] is None
    return embedded and bool(found) and all(app.status == "RUNNING" for app in found)


def is_back(made: Instance, find: Find, former: set[int]) -> bool:
    """Another one is in the place of those that were hit, and everything works."""
    now = {process.pid for process in find(made)}
    return not now & former and (bool(now) or find is PARTS["reader"][0]) and is_well(made)


def hit(made: Instance, report: Report, part: str, how: str) -> None:
    """Kill or stop a part, and measure until all is well."""
    find, most, _ = PARTS[part]
    deadline = time.monotonic() + 120
    while not (victims := find(made)) and time.monotonic() < deadline:
        time.sleep(0.2)
    if part in ("reader", "reader that starts", "gateway", "embedder"):
        victims = victims[:1]
    former = {process.pid for process in victims}
    for process in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(HOW[how])
    began = time.monotonic()
    replaced = PARTS["reader"][0] if find is starting_readers else find  # one that starts may start on meanwhile
    while not (back := is_back(made, replaced, former)) and time.monotonic() - began < 3 * most:
        time.sleep(0.5)
    took = time.monotonic() - began if former and back else None
    for process in victims:  # nothing stays behind that would disturb the next one
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    holds = took is not None and took <= most
    report.figure(f"{part} {how}: seconds until all is well", took, unit="s", reference=most, goal=GOAL, holds=holds)


@dataclass
class Ingesting:
    """The same folder ingested again and again from nothing; each time every page is there once, and every chunk."""

    made: Instance
    folder: Path
    exact: Callable[[], bool]
    clean: Callable[[], None]
    over: threading.Event = field(default_factory=threading.Event)
    ends: list[str] = field(default_factory=list)
    wrong: int = 0

    def go_on(self) -> None:
        """Until it is over; the last job is waited for."""
        while not self.over.is_set():
            self.clean()
            job = self._begun()
            ended = self.made.wait(job, 1200, every=1.0)
            self.ends.append(str(ended["state"]))
            is_wrong = ended["state"] != "completed" or not self.exact()
            self.wrong += is_wrong
            if is_wrong:
                print(f"{job} ended {ended['state']}: {self.made.http.get(f'/api/jobs/{job}/failures').text[:2000]}")

    def _begun(self) -> str:
        while True:
            try:
                return str(self.made.ingest(self.folder, wait=None)["job_id"])
            except httpx.HTTPError:  # the API is away, and says when to come back
                time.sleep(1)


def beside_a_hog(made: Instance, report: Report) -> None:
    """Another program takes memory until there is too little: readers go, controller and gateway stay."""
    kept = {part: {one.pid for one in PARTS[part][0](made)} for part in ("controller", "gateway", "embedder")}
    log = supervised.log_path(made.settings.state_dir)
    before, deadline = len(log.read_text()), time.monotonic() + 120
    while not PARTS["reader"][0](made) and time.monotonic() < deadline:
        time.sleep(0.2)
    total = use_now().total
    need = int((made.settings.ray.memory_high - use_now().share + 0.01) * total)
    hog = subprocess.Popen([sys.executable, "-c", HOG, str(max(need, 2**20))], stdout=subprocess.PIPE)
    try:
        assert hog.stdout is not None
        hog.stdout.readline()  # it has all that it wants
        time.sleep(HOG_SECONDS)
    finally:
        hog.kill()
        hog.wait()
    said = [line for line in log.read_text()[before:].splitlines() if "memory: " in line]
    ended = sum("ended the reader" in line for line in said)
    stayed = [part for part, pids in kept.items() if pids and pids <= {one.pid for one in PARTS[part][0](made)}]
    report.figure("memory hog: readers ended, as the supervisor's log says", ended, goal=GOAL, holds=ended > 0)
    report.figure("memory hog: what stayed", ", ".join(stayed), goal=GOAL, holds=len(stayed) == len(kept))
    if said:
        report.figure("memory hog: the log", said[0])


def measure(made: Instance, report: Report, ingesting: Ingesting, parts: tuple[str, ...] = tuple(PARTS)) -> None:
    """Hit one part after the other while clients ask and documents come in."""
    clients = Clients(made)
    threads = [threading.Thread(target=work) for work in (clients.ask, ingesting.go_on)]
    for thread in threads:
        thread.start()
    try:
        for part in parts:
            for how in PARTS[part][2]:
                hit(made, report, part, how)
                time.sleep(2)
        beside_a_hog(made, report)
    finally:
        ingesting.over.set()
        threads[1].join()
        clients.over.set()
        threads[0].join()
    exact = bool(ingesting.ends) and not ingesting.wrong
    report.figure(
        "jobs beside all that, page-exact",
        len(ingesting.ends),
        reference=", ".join(ingesting.ends),
        goal=GOAL,
        holds=exact,
    )
    told = ", ".join(f"{what}: {count}" for what, count in clients.told.most_common())
    report.figure("clients were told", told)
    report.figure("answers 404", clients.told["404"], reference=0, goal=GOAL, holds=clients.told["404"] == 0)
    report.figure(
        "answers 503 that do not say when to come back", clients.bare, reference=0, goal=GOAL, holds=clients.bare == 0
    )
