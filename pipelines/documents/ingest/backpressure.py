"""Backpressure on bulk work: full memory, other work that leaves no CPU to it, and the number of readers that fit."""

from cluster.basics.crowd import CrowdWatch
from cluster.state.work.jobs import JobLane
from cluster.state.work.wait_reasons import Wait, format_reason
from cluster.watch.memory import MemoryUse, use_now
from configs.sections import ReadSettings, Settings, WorkerSettings

ONE_FOR_DATASET = 1.0  # CPUs that Ray Data's own tasks need beside its actors
MOST_OF_A_CORE = 0.5  # of the one reader that goes on where all others are behind
SMALL_JOBS_A_CORE = 2  # so that each tenant's half of them fills the cores
FEWEST_SMALL_JOBS, MOST_SMALL_JOBS = 2, 16  # one that is slow holds nobody up
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
