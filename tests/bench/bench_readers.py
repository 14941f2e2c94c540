"""`make bench-scale`: readers that sleep instead of computing, behind the real ingest runner on a mini cluster."""

import argparse
import asyncio
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from pipelines.documents.ingest.page_batches import PAGES_A_READER
from tests.bench.sleeping_readers import PAGE_SECONDS, Pool, write_documents
from tests.evals.report import Report

# Readers, and the nodes that they are spread over.
STEPS = ((1, 1), (2, 1), (4, 1), (8, 2), (16, 2), (32, 4), (64, 4))
QUICK_STEPS = ((1, 1), (8, 2))
WINDOW, QUICK_WINDOW = 20.0, 8.0  # seconds measured once all readers are at work
JUDGED_WINDOW = 60.0  # where CPU a page is judged: Postgres vacuums, analyses and merges now and then
START_SECONDS = 480.0  # for a first batch, and as many processes on so few cores; then it is measured as it is
NODE_CPUS, READER_CPUS = 2, 0.1  # so that Ray counts room for all of them
PAGES_A_DOCUMENT = 50
IDEAL, WANTED = 0.9, 500
IDEAL_GOAL = "pages/s ≥ .9 of ideal up to 64 readers"
WANTED_GOAL = "≥ 500 pages/s a worker"
LOST_GOAL = "of two nodes one is killed: every page once, the job completed"


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds of CPU used so far."""

    coordinator: float  # this process: the ingest runner, and Ray's client with Ray Data's executor
    runner: float  # of it the event loop and the pool of its threads; what is left is Ray's
    postgres: float
    daemons: float  # Ray's: GCS and raylets

    @classmethod
    def now(cls, postmaster: psutil.Process) -> "CpuTimes":
        """Of this process, of a Postgres server, and of the daemons of Ray that run below this process."""
        own = os.times()
        daemons = (one for one in psutil.Process().children(recursive=True) if one.name() in ("raylet", "gcs_server"))
        ours = {one.native_id for one in threading.enumerate() if one.name.startswith(("MainThread", "asyncio_"))}
        runner = sum(one.user_time + one.system_time for one in psutil.Process().threads() if one.id in ours)
        return cls(own.user + own.system, runner, tree_seconds(postmaster), sum(map(_own_seconds, daemons)))


def _own_seconds(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def tree_seconds(postmaster: psutil.Process) -> float:
    """Backends that have ended are among the times of the postmaster's children."""
    used = postmaster.cpu_times()
    ended = float(used.children_user + used.children_system)
    return _own_seconds(postmaster) + ended + sum(map(_own_seconds, postmaster.children()))


class Watch:
    """Opens the window once all readers are at work, and closes it some seconds later."""

    def __init__(self, pool: Pool, seconds: float, measure: Callable[[], CpuTimes]) -> None:
        self._pool, self._seconds, self._measure = pool, seconds, measure
        self._began = time.monotonic()
        self.ready: float | None = None
        self.window: tuple[float, float] | None = None  # of time.time
        self.used: tuple[CpuTimes, CpuTimes] | None = None

    async def run(self) -> None:
        """Until the window is closed."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._pool.all_at_work.wait(), START_SECONDS)
            self.ready = time.monotonic() - self._began
        opened, before = time.time(), await asyncio.to_thread(self._measure)
        await asyncio.sleep(self._seconds)
        self.used = (before, await asyncio.to_thread(self._measure))
        self.window = (opened, time.time())

    def is_over(self) -> bool:
        """The window is closed."""
        return self.window is not None


class MiniCluster:
    """Nodes on this machine, Postgres, and what a worker is made of."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.admin = self.app = ""
        self.nodes: list[Any] = []

    async def start(self) -> None:
        """One node."""
        import ray
        from ray.cluster_utils import Cluster

        from cluster.state.db import embedded
        from cluster.state.db.migrate import apply_migrations
        from cluster.state.identity.bootstrap import first_admin
        from configs.settings import load_settings

        settings = load_settings()
        found = embedded.start_servers(settings)
        assert found.postgres_admin
        self.admin, self.app, self._state = found.postgres_admin, found.postgres, settings.state_dir
        await apply_migrations(self.admin)
        await first_admin(self.admin, settings.auth)
        pid = int((self._state / "postgres" / "postmaster.pid").read_text().split()[0])
        self.postmaster = psutil.Process(pid)
        options = {"num_cpus": NODE_CPUS, "include_dashboard": False, "object_store_memory": 150 * 2**20}
        self._cluster = Cluster(initialize_head=True, head_node_args=options)
        self.nodes = [self._cluster.head_node]
        ray.init(address=self._cluster.address, log_to_driver=False)

    def grow(self, nodes: int) -> None:
        """Until there are so many."""
        while len(self.nodes) < nodes:
            self.nodes.append(self._cluster.add_node(num_cpus=NODE_CPUS, object_store_memory=150 * 2**20))

    def kill(self, node: Any) -> None:
        """At once, with all readers that it has."""
        self._cluster.remove_node(node, allow_graceful=False)

    def stop(self) -> None:
        """Everything."""
        import ray

        from cluster.state.db import embedded

        if self.nodes:
            ray.shutdown()
            self._cluster.shutdown()
        embedded.stop_servers(self._state)

    def settled(self, job: str) -> list[float]:
        """When each page was settled, in order."""
        with psycopg.connect(self.admin) as connection:
            query = (
                "select extract(epoch from settled_at) from units"
                " where job_id = %s and stage = 'read' and status = 'done' order by 1"
            )
            return [float(moment) for (moment,) in connection.execute(query, [job]).fetchall()]


def rate_in(moments: Sequence[float], window: tuple[float, float]) -> float:
    """Pages a second between the last write before the window and the last one in it."""
    begun = max((moment for moment in moments if moment <= window[0]), default=window[0])
    inside = [moment for moment in moments if begun < moment <= window[1]]
    return len(inside) / (inside[-1] - begun) if inside else 0.0


async def measure_step(report: Report, mini: MiniCluster, readers: int, nodes: int, seconds: float) -> None:
    """One job that is stopped after the window."""
    from cluster.state.work.jobs import JobState
    from tests.fakes.ledger import bench, new_workspace

    mini.grow(nodes)
    ideal = readers / PAGE_SECONDS
    pages = PAGES_A_READER * readers + round(ideal * (seconds + 60 + readers))
    folder = mini.place / f"documents-{readers}"
    write_documents(folder, pages // PAGES_A_DOCUMENT + 1, PAGES_A_DOCUMENT)
    scope = await new_workspace(mini.admin)
    async with bench(mini.app, mini.place) as ledger:
        pool = Pool(ledger, readers, READER_CPUS)
        await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
        job = await ledger.claim()
        watch = Watch(pool, seconds, lambda: CpuTimes.now(mini.postmaster))
        watching = asyncio.create_task(watch.run())
        runner = ledger.runner()
        while not watch.is_over():
            turn = await runner.turn(job, await ledger.recipe(), watch.is_over)
            if turn.ended:
                break
            job = await ledger.jobs.reload(job)
        await watching
        if not turn.ended:
            await ledger.jobs.finish(job.lease, JobState.CANCELLED)
    assert watch.window and watch.used
    moments = await asyncio.to_thread(mini.settled, job.lease.job)
    rate = rate_in(moments, watch.window)
    at = f"{readers} readers, {nodes} node{'s' if nodes > 1 else ''}"
    print(f"{at}: {rate:.1f} pages/s of {ideal:g}, all at work after {watch.ready or -1:.0f} s", flush=True)
    report.figure(f"{at}: pages/s", rate, reference=ideal, goal=IDEAL_GOAL, holds=rate >= IDEAL * ideal)
    report.figure(f"{at}: all at work after", watch.ready, unit="s")
    report.figure(f"{at}: from one batch to the first slice of the next", pool.between_batches, unit="s")
    inside = sum(watch.window[0] < moment <= watch.window[1] for moment in moments)
    report_costs(report, at, watch.used, inside, judged=readers == STEPS[-1][0])


def report_costs(report: Report, at: str, used: tuple[CpuTimes, CpuTimes], pages: int, *, judged: bool) -> None:
    """CPU a page, and the pages a second at which one core of it is full."""
    for name in ("coordinator", "runner", "postgres", "daemons"):
        spent = getattr(used[1], name) - getattr(used[0], name)
        each = 1000 * spent / pages if pages else None
        report.figure(f"{at}: CPU of {name} a page", each, unit="ms")
        if name in ("runner", "daemons") or not each:
            continue
        full = 1000 / each
        goal = {"goal": WANTED_GOAL, "holds": full >= WANTED} if judged else {}
        report.figure(f"{at}: {name} saturates at, pages/s", full, **goal)
        print(f"  {name}: {each:.2f} ms a page, one core full at {full:.0f} pages/s", flush=True)


async def measure_lost_node(report: Report, mini: MiniCluster, readers: int, documents: int) -> None:
    """A job on the head and one node more, which is killed at a quarter of its pages."""
    from tests.fakes.ledger import bench, new_workspace

    while len(mini.nodes) > 2:
        mini.kill(mini.nodes.pop())
    mini.grow(2)
    folder = mini.place / "documents-lost"
    expected = write_documents(folder, documents, 20)
    scope = await new_workspace(mini.admin)
    async with bench(mini.app, mini.place) as ledger:
        pool = Pool(ledger, readers, READER_CPUS)
        await ledger.enqueue(scope, "scan", {"root": str(folder), "agent_id": None})
        killing = asyncio.create_task(_kill_after(mini, pool.reached(expected // 4)))
        job = await ledger.run()
        await killing
        shown = await ledger.desk.show(scope, job)
        (row,) = await ledger.rows(
            scope,
            "select count(*) as n, count(distinct id) as ids, count(*) filter (where text = '') as empty,"
            " count(*) filter (where revision > 1) as again from pages",
        )
    whole = shown["state"] == "completed" and row["n"] == row["ids"] == expected and row["empty"] == 0
    report.figure("pages after a node was lost", row["n"], reference=expected, goal=LOST_GOAL, holds=whole)
    report.figure("of them written twice", row["again"])
    print(f"a node lost: {row['n']} of {expected} pages, {shown['state']}", flush=True)


async def _kill_after(mini: MiniCluster, reached: asyncio.Event) -> None:
    await reached.wait()
    await asyncio.to_thread(mini.kill, mini.nodes.pop())


async def run(report: Report, place: Path, steps: Sequence[tuple[int, int]], options: argparse.Namespace) -> None:
    """Every step, and the lost node."""
    mini = MiniCluster(place)
    try:
        await mini.start()
        for readers, nodes in steps:
            await measure_step(report, mini, readers, nodes, _window(readers, options.quick))
        if not options.readers:
            await measure_lost_node(report, mini, *((4, 6) if options.quick else (12, 30)))
    finally:
        mini.stop()


def _window(readers: int, quick: bool) -> float:
    if quick:
        return QUICK_WINDOW
    return JUDGED_WINDOW if readers == STEPS[-1][0] else WINDOW


def _chosen(options: argparse.Namespace) -> Iterator[tuple[int, int]]:
    for readers, nodes in QUICK_STEPS if options.quick else STEPS:
        if not options.readers or readers in options.readers:
            yield readers, nodes


def main() -> int:
    """Measure all steps, or those of `--readers`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 and 8 readers and short windows: two minutes")
    parser.add_argument("--readers", type=int, action="append", help="of these steps alone, without the lost node")
    options = parser.parse_args()
    report = Report("bench-scale", part=options.quick or bool(options.readers))
    with tempfile.TemporaryDirectory(prefix="aos-scale-") as place:
        os.environ |= {  # before Ray starts: its nodes inherit it
            "AOS_STATE_DIR": f"{place}/s",
            "RAY_AUTH_MODE": "disabled",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # every node binds loopback
            "RAY_USAGE_STATS_ENABLED": "0",
            "HF_HUB_OFFLINE": "1",
            # Ray's processes find this module, too.
            "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.getenv("PYTHONPATH", "")])),
        }
        asyncio.run(run(report, Path(place), list(_chosen(options)), options))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
