"""S3-compatible storage of a test's own: moto's server, a process that answers on loopback."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx

from cluster.state.objects.bucket import Bucket
from configs.sections_blobs import BlobSettings
from pipelines.documents.store.file_cache import FileCache
from pipelines.documents.store.s3_blobs import BucketBlobs

START_SECONDS = 60.0


@dataclass(frozen=True)
class S3Server:
    """Where it answers."""

    endpoint: str

    def settings(self, prefix: str = "aos") -> BlobSettings:
        """Those of a bucket of its own."""
        name = f"b-{uuid4().hex[:16]}"
        assert httpx.put(f"{self.endpoint}/{name}").status_code == 200
        keys = {"access_key": "test-key", "secret_key": "test-secret-of-nobody"}
        return BlobSettings(url=f"s3://{name}/{prefix}", endpoint=self.endpoint, **keys)


@contextmanager
def run_s3() -> Iterator[S3Server]:
    """It runs for as long as the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, "moto's server does not start"
                time.sleep(0.05)
        yield S3Server(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()


def bucket_blobs(settings: BlobSettings, folder: Path, most_bytes: int = 2**30) -> BucketBlobs:
    """A node's store over a bucket, with its cache in a folder."""
    return BucketBlobs(Bucket.of(settings), FileCache(folder / "blob_cache", most_bytes), base=folder)
