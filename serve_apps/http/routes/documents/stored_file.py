"""The file that a document was read from, opened wherever its bytes are kept."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pipelines.documents.store.blobs import BlobStore, local_file
from serve_apps.http.problems import FileChanged


@asynccontextmanager
async def stored_file(blobs: BlobStore, location: str) -> AsyncIterator[Path]:
    """A path, for as long as the block runs. Raises FileChanged: the storage has it no more."""
    opened = local_file(blobs, location)
    try:
        path = await opened.__aenter__()
    except FileNotFoundError as error:
        raise FileChanged("it is no longer where it was read") from error
    try:
        yield path
    finally:
        await opened.__aexit__(None, None, None)
