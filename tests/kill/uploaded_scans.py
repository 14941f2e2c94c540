"""The same disturbances over S3: scans come as one archive that is uploaded, and every byte lies in a bucket."""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.fakes.s3 import run_s3
from tests.instance import Instance


class UploadingInstance(Instance):
    """`ingest` uploads what is in the folder: one job, whose documents are the members of an archive."""

    __slots__ = ()

    @classmethod
    def of(cls, made: Instance) -> "UploadingInstance":
        """The same product."""
        return cls(made.settings, made.env, made.http, made.up_seconds)

    def ingest(self, folder: Path, *, wait: float | None = 1800) -> dict[str, Any]:
        """As in `Instance`. An archive that is there already is answered without a job: `known` is true."""
        archive = folder.with_suffix(".zip")
        if not archive.exists():
            with zipfile.ZipFile(archive, "w") as made:
                for path in sorted(folder.iterdir()):
                    made.write(path, path.name)
        with archive.open("rb") as file:
            reply = self.http.post("/api/documents/upload", files={"file": (archive.name, file, "application/zip")})
        reply.raise_for_status()
        if reply.status_code == httpx.codes.OK:
            return {"known": True}
        job: dict[str, Any] = reply.json()
        return self.wait(job["job_id"], wait) if wait else job


@contextmanager
def bucket_settings(chosen: str) -> Iterator[Mapping[str, str]]:
    """Settings by their environment names: of a bucket on moto's server for `s3`, none for `folder`."""
    if chosen != "s3":
        yield {}
        return
    with run_s3() as server:
        made = server.settings()
        yield {
            "AOS_BLOBS_URL": str(made.url),
            "AOS_BLOBS_ENDPOINT": server.endpoint,
            "AOS_BLOBS_ACCESS_KEY": "test-key",
            "AOS_BLOBS_SECRET_KEY": "test-secret-of-nobody",
        }
