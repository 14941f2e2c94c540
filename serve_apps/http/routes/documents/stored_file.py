"""The file that a document was read from, opened wherever its bytes are kept."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cluster.basics.disk import means_full
from pipelines.documents.document import Unreadable
from pipelines.documents.store.blobs import BlobStore, local_file
from serve_apps.http.problems import FileChanged


@asynccontextmanager
async def stored_file(blobs: BlobStore, location: str) -> AsyncIterator[Path]:
    """A path, for as long as the block runs. Raises FileChanged: it is there no more, or must not be read."""
    opened = local_file(blobs, location)
    try:
        path = await opened.__aenter__()
    except OSError as error:
        if means_full(error):  # a copy of it has no room
            raise
        raise FileChanged("it is no longer where it was read") from error
    except Unreadable as error:
        raise FileChanged(error.detail) from error
    try:
        yield path
    finally:
        await opened.__aexit__(None, None, None)
