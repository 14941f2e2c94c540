"""Files to pages to text as Ray Data: surveys and readings by a pool of actors, each with its guarded child."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import ray.data
from ray.data.exceptions import ExecutionTimeoutError
from ray.exceptions import OutOfDiskError, OutOfMemoryError, RayError

from cluster import connect
from cluster.basics.disk import full_at, means_full
from cluster.basics.errors import AosError, DiskFull, MemoryShort, Stalled, Unavailable
from cluster.basics.priority import ProcessPriority, end_me_first
from cluster.watch.answering import answer_liveness
from configs.sections import ReadSettings, Settings
from configs.settings import load_settings
from pipelines import rows
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.index.generations import BrokenVectors
from pipelines.documents.ingest.backpressure import ClusterRoom, ReaderBounds, reader_bounds
from pipelines.documents.ingest.page_batches import SLICE_PAGES
from pipelines.documents.ingest.slices import PageSlice, ReadPage, read_slice
from pipelines.documents.ingest.stages import FileTask, SurveyResult, survey_file
from pipelines.documents.store.choose_store import open_blobs

# A pool's actors import for seconds before a line of ours runs, while somebody waits for an answer: they start in the
# kernel's idle class already, where it is not refused. A node that names no Python has it where this one does.
BEHIND = f'$(chrt --idle 0 true 2>/dev/null && echo chrt --idle 0) "${{AOS_PYTHON:-{sys.executable}}}"'
STALL_SECONDS = 300.0
LOOK_SECONDS, RELEASE_SECONDS = 0.5, 10.0  # between two looks at what is free, while it becomes more; at most


def be_a_reader(settings: Settings) -> None:
    """For an actor at its start: answer whoever asks whether it lives, and be the first to go where memory runs out."""
    answer_liveness(connect.liveness_folder(settings.state_dir), "reader")
    end_me_first()


class _BulkActor:
    """Has a reader of documents, the files it reads, and the settings that its worker has."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        settings = load_settings(rows=given)
        be_a_reader(settings)
        priority = ProcessPriority.IDLE if settings.read.idle else ProcessPriority.NORMAL
        self._reader = DocumentReader(settings.read, settings.ocr, priority=priority)
        self._files = open_blobs(settings)


class _Survey(_BulkActor):
    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        tasks = (rows.to_task(row) for row in batch.to_pylist())
        yield pa.Table.from_pylist([rows.of_surveyed(survey_file(self._reader, task, self._files)) for task in tasks])


class _Read(_BulkActor):
    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        for row in batch.to_pylist():
            pages = [rows.of_read(page) for page in read_slice(self._reader, rows.to_slice(row), self._files)]
            yield pa.Table.from_pylist(pages)


def survey_files(
    files: Sequence[FileTask], settings: ReadSettings, given: Mapping[str, Any] | None = None
) -> Iterator[list[SurveyResult]]:
    """Survey files on the cluster; `given` are rows of the settings."""
    items = [rows.of_task(task) for task in files]
    for table in stream_through_actors(items, _Survey, settings, quiet_seconds=2 * settings.open_seconds, given=given):
        yield [rows.to_surveyed(row) for row in table.to_pylist()]


def read_slices(
    slices: Sequence[PageSlice],
    settings: ReadSettings,
    gpus: float = 0,
    given: Mapping[str, Any] | None = None,
    work: type[Callable[[pa.Table], Iterator[pa.Table]]] = _Read,
    workers: int = 1,
) -> Iterator[list[ReadPage]]:
    """Read slices on the cluster by actors of a class; one list a slice, as each is finished.

    Each actor takes so much of the `gpus`; so many `workers` share the cluster.
    """
    items = [rows.of_slice(piece) for piece in slices]
    # A slice has more pages than these only where those of the batch before were quick.
    pages = min(SLICE_PAGES, max((len(piece.numbers) for piece in slices), default=1))
    slowest = pages * settings.page_seconds
    held = settings.idle and settings.floor > 0
    for table in stream_through_actors(
        items, work, settings, quiet_seconds=2 * slowest, gpus=gpus, given=given, floor=held, workers=workers
    ):
        yield [rows.to_read(row) for row in table.to_pylist()]


def bound_readers(settings: ReadSettings, gpus: float = 0, workers: int = 1) -> ReaderBounds:
    """Readers of the next batch: as set, or as the cluster is at this moment, with what its autoscaler may add.

    Each takes so much of the `gpus`; so many `workers` share the cluster.
    """
    if settings.readers != "auto":
        return ReaderBounds(settings.readers, settings.readers)
    free = ray.available_resources()  # type: ignore[no-untyped-call]
    there = ray.cluster_resources()  # type: ignore[no-untyped-call]
    most = most_resources(ray._private.state.state)
    nodes = sum(node["Alive"] for node in ray.nodes())  # type: ignore[no-untyped-call]
    room = ClusterRoom.of_ray(free, there, most, nodes, os.cpu_count())
    return reader_bounds(room, settings.reader_cpus, gpus, workers)


def most_resources(state: object) -> Mapping[str, float]:
    """What an autoscaler may make the cluster grow to; empty without one, and where this Ray does not tell.

    Ray Data itself takes this for the size that a cluster may grow to, but it is no part of what Ray promises.
    """
    ask = getattr(state, "get_max_resources_from_cluster_config", None)
    return (ask() if ask else None) or {}


def count_readers(settings: ReadSettings, gpus: float = 0, workers: int = 1) -> int:
    """Readers of the batch that begins now, once those of the one before have given back what they had."""
    now, known = bound_readers(settings, gpus, workers).now, 0
    deadline = time.monotonic() + RELEASE_SECONDS
    while settings.readers == "auto" and now > known and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
        now, known = bound_readers(settings, gpus, workers).now, now
    return now


def stream_through_actors(
    items: list[dict[str, Any]],
    work: type[Callable[[pa.Table], Iterator[pa.Table]]],
    settings: ReadSettings,
    *,
    quiet_seconds: float,
    gpus: float = 0,
    given: Mapping[str, Any] | None = None,
    floor: bool = False,
    workers: int = 1,
) -> Iterator[pa.Table]:
    """Send rows one by one through a pool of actors and hand out each result as it comes.

    A row is a block: a killed actor loses one row's work, which Ray tries again on another.

    Args:
        work: the actors' class.
        quiet_seconds: how long one row may take; twice that, and two minutes, without any result is a stall.
        gpus: the part of a GPU that each actor reserves; Ray shows it that GPU alone.
        given: rows of the settings for the actors, small; None for actors that take none.
        floor: the work goes on elsewhere after a stall, so that is found out sooner.
        workers: those at bulk work, which share the cluster.

    Raises:
        Stalled, Unavailable: the cluster does nothing, or goes away; the units that are left are done by whoever claims
            the job next.
        DiskFull, MemoryShort: so does a node, for want of room.
        BrokenVectors: the embedder gave numbers that are none.
    """
    bounds = bound_readers(settings, gpus, workers)
    begin, most = min(len(items), bounds.now), min(len(items), bounds.most)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.raise_original_map_exception = True  # or a full disk on a node would have no name here
    quiet = 2 * quiet_seconds + 120
    # Behind others it may have next to nothing: whoever waits for it goes on where bulk work has its floor.
    context.execution_no_progress_timeout_s = round(min(quiet, STALL_SECONDS) if floor else quiet)
    pool = ray.data.ActorPoolStrategy(min_size=1, max_size=most, initial_size=begin, max_tasks_in_flight_per_actor=2)
    dataset = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
        work,
        batch_size=1,
        batch_format="pyarrow",
        compute=pool,
        num_cpus=settings.reader_cpus,
        num_gpus=gpus or None,
        fn_constructor_kwargs={"given": dict(given)} if given else None,
        runtime_env={"py_executable": BEHIND} if settings.idle else None,
    )
    try:
        yield from dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
    except (RayError, ExecutionTimeoutError) as error:
        raise classified(error) from error


def classified(error: RayError | ExecutionTimeoutError) -> AosError:
    """The error that ended a dataset, by our names."""
    if isinstance(error, OutOfDiskError):
        return full_at()
    cause = getattr(error, "cause", error)  # what an actor raised comes as a RayTaskError with it inside
    if isinstance(cause, DiskFull):
        return DiskFull(cause.detail, fix=cause.hint)
    if isinstance(cause, BrokenVectors):  # no other actor is told better ones
        return BrokenVectors(cause.detail)
    if means_full(cause):
        return full_at()
    if isinstance(error, OutOfMemoryError):
        return MemoryShort("a node ended a reader so that others keep their memory")
    kind = Stalled if isinstance(error, ExecutionTimeoutError) else Unavailable
    return kind(f"the dataset did not finish: {error}")
