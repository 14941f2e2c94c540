"""A worker of one lane in a process of its own, to be killed: several loops, a line for each page it reads."""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.state.work.jobs import JobLane
from configs.sections import WorkerSettings
from pipelines.documents.document import Page
from pipelines.documents.ingest.job_loop import JobLoop
from pipelines.documents.sources.sniff import Kind
from tests.fakes.ledger import bench
from tests.fakes.reading import FormFeedReader

LOOPS = 4
PARTITION_FILES = 3
SHIFTS = WorkerSettings(lease_seconds=1.5, heartbeat_seconds=0.3, poll_seconds=0.05, slice_seconds=0.4)


@dataclass
class TellingReader(FormFeedReader):
    """Needs a while for each page, and writes down that it has read it."""

    told_to: Path = Path("readings")

    def read(self, path: Path, kind: Kind, numbers: Sequence[int], **text: Any) -> Iterator[Page]:
        for page in super().read(path, kind, numbers, **text):
            time.sleep(0.05)
            with self.told_to.open("a") as lines:
                lines.write(f"{path.name} {page.number}\n")
            yield page


async def work(dsn: str, folder: Path, lane: JobLane) -> None:
    """Until killed."""
    async with bench(dsn, folder) as made:
        made.reader = TellingReader(told_to=folder / "readings")
        made.read = made.read.model_copy(update={"partition_files": PARTITION_FILES})
        loops = [JobLoop(made.jobs, made.runner(), made.recipe, SHIFTS, f"{time.time_ns()}:{n}") for n in range(LOOPS)]
        await asyncio.gather(*(one.work(lane) for one in loops))


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2]), JobLane(sys.argv[3])))
