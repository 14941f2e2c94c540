"""Backpressure on bulk work: full memory, other work that leaves no CPU to it, and the number of readers that fit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from cluster.basics.crowd import CrowdWatch
from cluster.state.work.jobs import JobLane
from cluster.state.work.wait_reasons import Wait, format_reason
from cluster.watch.memory import MemoryUse, use_now
from configs.sections import ReadSettings, Settings, WorkerSettings

ONE_FOR_DATASET = 1.0  # CPUs that Ray Data's own tasks need beside its actors
MOST_OF_A_CORE = 0.5  # of the one reader that goes on where all others are behind
SMALL_JOBS_A_CORE = 2  # so that each tenant's half of them fills the cores
FEWEST_SMALL_JOBS, MOST_SMALL_JOBS = 2, 16  # one that is slow holds nobody up
MOST_READERS = 1000
SMALL_JOB_BYTES = 512 * 2**20  # a reader with its engines


def small_job_count(worker: WorkerSettings, cores: int, use: MemoryUse) -> int:
    """Uploads that run at once: as set, or as many as this machine's cores and free memory have room for."""
    if worker.small_jobs != "auto":
        return worker.small_jobs
    room = min(SMALL_JOBS_A_CORE * cores, (use.total - use.used) // SMALL_JOB_BYTES)
    return max(FEWEST_SMALL_JOBS, min(room, MOST_SMALL_JOBS))


def memory_wait(high: float, use: MemoryUse) -> str | None:
    """What keeps one more upload from beginning beside another, as `waits` writes it."""
    if use.share <= high:
        return None
    return format_reason(Wait.MEMORY_SHORT, f"{use.share:.0%} of the memory is in use; above {high:.0%} none begins")


def strain_of(lane: JobLane, settings: Settings, crowd: CrowdWatch | None) -> str | None:
    """Backpressure of this machine on a lane: by the rules by which readers are ended, or held back."""
    if lane is not JobLane.BULK:
        return None
    use, high = use_now(), settings.ray.memory_high
    if use.share > high:
        full = f"{use.share:.0%} of the memory is in use; above {high:.0%} readers are ended"
        return format_reason(Wait.MEMORY_SHORT, full)
    if crowd is not None and crowd.is_crowded:
        left = f"other work leaves {crowd.left:.1%} of this machine: it goes on at its floor, {crowd.share:.0%}"
        return format_reason(Wait.MACHINE_BUSY, left)
    return None


def share_of_a_core(read: ReadSettings, cores: int) -> float:
    """Limits of one reader where bulk work has no more than its floor."""
    return min(MOST_OF_A_CORE, read.floor * cores)


def reader_count(
    cpus: float, gpus: float, cpus_each: float, gpus_each: float = 0.0, *, cores: int | None = None
) -> int:
    """At least one: it waits until there is room.

    `cpus` (logical ones) and `gpus` are those that nobody has reserved, `…_each` what a reader reserves of them,
    `cores` those of the machine where all readers run on one: logical CPUs may exceed them.
    """
    room = int((cpus - ONE_FOR_DATASET) / cpus_each)
    if gpus_each:
        room = min(room, int(gpus / gpus_each))
    return max(1, room if cores is None else min(room, cores))


@dataclass(frozen=True, slots=True)
class ClusterRoom:
    """Logical CPUs and GPUs that nobody has reserved, those that an autoscaler may add, and all that there are then."""

    cpus: float
    gpus: float
    more_cpus: float = 0.0
    more_gpus: float = 0.0
    cores: int | None = None  # of the machine where the cluster is that one alone
    all_cpus: float = math.inf
    all_gpus: float = math.inf

    @classmethod
    def of_ray(
        cls,
        free: Mapping[str, float],
        there: Mapping[str, float],
        most: Mapping[str, float],
        nodes: int,
        cores: int | None,
    ) -> "ClusterRoom":
        """From what Ray says is free, is there, and is there at most; of `nodes` that live, on a machine of `cores`."""
        more = {name: max(0.0, most.get(name, 0.0) - there.get(name, 0.0)) for name in ("CPU", "GPU")}
        # A cluster of this machine alone has more logical CPUs than cores, one that was joined has what it says.
        alone = nodes == 1 and not any(more.values())
        every = {name: there.get(name, 0.0) + more[name] for name in ("CPU", "GPU")}
        return cls(
            free.get("CPU", 0.0),
            free.get("GPU", 0.0),
            more["CPU"],
            more["GPU"],
            cores if alone else None,
            every["CPU"],
            every["GPU"],
        )


@dataclass(frozen=True, slots=True)
class ReaderBounds:
    """Readers that begin now, and how many they may become while a batch is read."""

    now: int
    most: int


def reader_bounds(room: ClusterRoom, cpus_each: float, gpus_each: float = 0.0, workers: int = 1) -> ReaderBounds:
    """Readers that fit now, and that fit once an autoscaler has added all that it may.

    Of several workers at bulk work each takes no more than its part of all CPUs and GPUs: whoever comes second would
    find nothing free until the batch of the first has ended.
    """
    now = reader_count(room.cpus, room.gpus, cpus_each, gpus_each, cores=room.cores)
    cpus, gpus = room.cpus + room.more_cpus, room.gpus + room.more_gpus
    most = reader_count(cpus, gpus, cpus_each, gpus_each, cores=room.cores)
    if workers > 1:
        every = reader_count(room.all_cpus, room.all_gpus, cpus_each, gpus_each, cores=room.cores)
        part = max(1, every // workers)
        now, most = min(now, part), min(most, part)
    return ReaderBounds(min(now, MOST_READERS), min(most, MOST_READERS))
