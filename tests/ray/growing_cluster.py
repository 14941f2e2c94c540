"""A cluster that grows and shrinks while pages are read, in a process of its own; prints what came of it as JSON."""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from configs.sections import ReadSettings
from pipelines.documents.document import VersionId
from pipelines.documents.ingest.backpressure import ReaderBounds
from pipelines.documents.ingest.slices import PageSlice
from pipelines.documents.sources.files import hash_file
from pipelines.read import bound_readers, read_slices
from tests.bench.sleeping_readers import SleepingRead

SETTINGS = ReadSettings(idle=False)
NODE = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 100 * 2**20}


def slices(folder: Path, count: int) -> list[PageSlice]:
    """Two pages each, of one file."""
    path = folder / "book.txt"
    path.write_text("\f" * (2 * count))
    facts = path.stat()
    whole = (VersionId("v"), str(path), "text", hash_file(path), facts.st_size, facts.st_mtime_ns)
    return [PageSlice(*whole, (2 * n + 1, 2 * n + 2)) for n in range(count)]


def read_pages(pieces: list[PageSlice]) -> Iterator[tuple[int, str]]:
    """Number and reader of each page, as it comes."""
    for pages in read_slices(pieces, SETTINGS, work=SleepingRead):
        yield from ((page.page.number, page.page.text.rpartition(" ")[2]) for page in pages)


def wait_for(now: int, seconds: float = 30) -> ReaderBounds:
    """Until Ray has noticed."""
    deadline = time.monotonic() + seconds
    while (bounds := bound_readers(SETTINGS)).now != now and time.monotonic() < deadline:
        time.sleep(0.2)
    return bounds


def read_beside_changes(folder: Path) -> dict[str, object]:
    """Nodes come and go between batches; one goes in the middle of the last."""
    nodes = Cluster(initialize_head=True, head_node_args=NODE)
    nodes.add_node(num_cpus=2)
    ray.init(address=nodes.address, log_to_driver=False)
    few = wait_for(3)
    more = nodes.add_node(num_cpus=4)
    many = wait_for(7)
    found = []
    for number, reader in read_pages(slices(folder, 60)):
        found.append((number, reader))
        if len(found) == 40:
            nodes.remove_node(more, allow_graceful=False)
    fewer = wait_for(3)
    ray.shutdown()
    nodes.shutdown()
    pages = [number for number, _ in found]
    counts = {
        "few": few.now,
        "many": many.now,
        "fewer": fewer.now,
        "readers": len({reader for _, reader in found[:40]}),
    }
    return {**counts, "pages": len(pages), "distinct": len(set(pages))}


if __name__ == "__main__":
    os.environ |= {
        "RAY_AUTH_MODE": "disabled",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # every node binds loopback
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(read_beside_changes(Path(place))))
