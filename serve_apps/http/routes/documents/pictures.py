"""Pictures of pages: drawn one at a time in a thread of its own, from the very bytes that were read."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from cluster.basics.errors import Overloaded
from pipelines.documents.document import Unreadable
from pipelines.documents.sources.files import hash_file
from pipelines.documents.sources.sniff import Kind
from serve_apps.http.problems import FileChanged, file_refusal


class PageRenderer(Protocol):
    """Renderer of pages: pipelines.documents.extract.reader.DocumentReader, which serves one thread."""

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        """A PNG of one 1-based page, or Unreadable."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


class OneByOne:
    """Draws in turn; more than `most` waiting is refused."""

    def __init__(self, drawer: PageRenderer, most: int = 16) -> None:
        self._drawer, self._most, self._waiting = drawer, most, 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pictures")

    async def draw(
        self,
        path: Path,
        file_hash: str,
        kind: str,
        number: int,
        dpi: int,
        over: Callable[[bytes], bytes] = lambda png: png,
    ) -> bytes:
        """A PNG of one 1-based page, from bytes that still have this hash; `over` draws on it, in the same thread.

        Raises:
            FileChanged: the bytes are not those with this hash any more, or are gone.
            FileRefused: the page cannot be drawn; FileUnsupported where the format has no pages of its own.
            Overloaded: too many wait.
        """
        if self._waiting >= self._most:
            raise Overloaded("too many pages are being drawn")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            page = (path, file_hash, Kind(kind), number, dpi)
            return await loop.run_in_executor(self._thread, lambda: over(self._draw_page(*page)))
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End the thread and what it used, after the picture it is at."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._drawer.close)
        self._thread.shutdown()

    def _draw_page(self, path: Path, file_hash: str, kind: Kind, number: int, dpi: int) -> bytes:
        try:
            if hash_file(path) != file_hash:
                raise FileChanged("its content changed since it was read")
        except OSError as error:
            raise FileChanged("it is no longer where it was read") from error
        try:
            return self._drawer.picture(path, kind, number, dpi)
        except Unreadable as error:
            raise file_refusal(error) from error
