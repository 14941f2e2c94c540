"""Workers of Ray that are stopped before they can be asked: found at the second look in a row, and nobody else."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil

from cluster import connect
from cluster.health_rounds import LivenessRounds
from cluster.watch.stopped import StoppedWorkers, child_pids, is_worker
from configs.settings import load_settings

WORKER, AGENT = "default_worker.py", "agent_stand_in.py"


@contextmanager
def child(program: str = WORKER) -> Iterator[psutil.Process]:
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", program])
    try:
        yield psutil.Process(started.pid)
    finally:
        started.kill()
        started.wait()


def becomes(process: psutil.Process, *states: str) -> None:
    until = time.monotonic() + 10
    while process.status() not in states:
        assert time.monotonic() < until, process.status()
        time.sleep(0.005)


def stop(process: psutil.Process) -> None:
    process.send_signal(signal.SIGSTOP)
    becomes(process, psutil.STATUS_STOPPED)


def go_on(process: psutil.Process) -> None:
    process.send_signal(signal.SIGCONT)
    becomes(process, psutil.STATUS_SLEEPING, psutil.STATUS_RUNNING)


def test_a_worker_that_is_stopped_twice_in_a_row_is_found() -> None:
    watch, ours = StoppedWorkers(), os.getpid()
    with child() as first, child() as second, child(AGENT) as agent:
        assert {first.pid, second.pid, agent.pid} <= set(child_pids(ours))
        for process in (first, second, agent):
            stop(process)
        assert watch.look(ours, ()) == set()
        assert watch.look(ours, {second.pid}) == {first}, "the other has a socket of its own, and agents are no workers"
        go_on(first)
        assert watch.look(ours, {second.pid}) == set()
        stop(first)
        assert watch.look(ours, {second.pid}) == set(), "once stopped, whenever it was stopped before"
        assert watch.look(psutil.Process().ppid(), ()) == set(), "children of another process"


def test_the_rounds_end_it_and_say_so(tmp_path: Path) -> None:
    said: list[str] = []
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path)})
    with closing(LivenessRounds(settings, said.append)) as rounds, child() as stopped, child() as asked:
        rounds._head = {"raylet": psutil.Process()}
        folder = connect.liveness_folder(tmp_path)
        folder.mkdir(parents=True)
        (folder / f"reader-{asked.pid}.sock").touch()
        for process in (stopped, asked):
            stop(process)
        rounds._end_stopped()
        assert not said and stopped.status() == psutil.STATUS_STOPPED
        rounds._end_stopped()
        becomes(stopped, psutil.STATUS_ZOMBIE)
        assert asked.status() == psutil.STATUS_STOPPED
    (line,) = said
    assert line.startswith("stopped worker of Ray") and f"(process {stopped.pid}) does not answer" in line


def test_agents_are_no_workers_whatever_they_are_called() -> None:
    workers = (
        "ray::IDLE",
        "ray::MapWorker(MapBatches(_Read))",
        "chrt --idle 0 python x/ray/_private/workers/default_worker.py",
    )
    agents = ("ray::RuntimeEnvAgent", "ray::DashboardAgent", "python x/ray/_private/runtime_env/agent/main.py")
    assert [is_worker(one) for one in (*workers, *agents)] == [True] * 3 + [False] * 3


def test_a_raylet_that_has_ended_has_no_workers() -> None:
    assert StoppedWorkers().look(2**22 + 1, ()) == set()
