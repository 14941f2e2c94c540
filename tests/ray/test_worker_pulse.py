"""Ray's own workers with our pulse: their main loop rests, and calls and signals reach it all the same."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from ray.actor import ActorHandle


@ray.remote(num_cpus=0)
class Resting:
    """An actor as Serve's are."""

    def __init__(self) -> None:
        import cluster.ray_daemons.worker_pulse  # noqa: F401  # in the product Ray does so

    async def pid(self) -> int:
        return os.getpid()


def switches(pid: int) -> int:
    """How often the main thread has waited."""
    lines = Path(f"/proc/{pid}/task/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("voluntary_ctxt")).split()[1])


def timed(actor: ActorHandle[Any], calls: int) -> float:
    began = time.monotonic()
    for _ in range(calls):
        ray.get(actor.pid.remote())
    return (time.monotonic() - began) / calls


@pytest.fixture
def resting(cluster: str) -> ActorHandle[Any]:
    actor: ActorHandle[Any] = Resting.remote()
    ray.get(actor.pid.remote())
    time.sleep(3)  # until the pulse has found the loop
    return actor


def test_an_idle_worker_wakes_four_times_a_second_and_answers_at_once(resting: ActorHandle[Any]) -> None:
    pid = ray.get(resting.pid.remote())
    before = switches(pid)
    time.sleep(2)
    assert switches(pid) - before <= 20, "two hundred without it"
    assert timed(resting, 50) < 0.05, "a call does not wait for the pulse"


def test_a_worker_that_is_asked_to_end_does_so_within_a_second(resting: ActorHandle[Any]) -> None:
    process = psutil.Process(ray.get(resting.pid.remote()))
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    while psutil.pid_exists(process.pid) and time.monotonic() - began < 10:
        time.sleep(0.02)
    assert time.monotonic() - began < 2
