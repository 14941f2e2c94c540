"""A bucket as a place that documents come from."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import obstore
from obstore.store import S3Store

from tests.fakes.s3 import run_s3
from tests.kill.sites.site_port import Doorway, PlainSite, Site


@dataclass
class BucketSite(PlainSite):
    """A bucket of moto's server, behind a door."""

    store: Any
    settings: Mapping[str, str]
    door: Doorway
    kind: str = "s3"
    secret: Mapping[str, str] = field(default_factory=lambda: {"access_key_id": "k", "secret_access_key": "s"})
    keeps_moved: bool = True
    has_rights: bool = False

    def put(self, id_: str, body: bytes) -> None:
        obstore.put(self.store, id_, body)

    def delete(self, id_: str) -> None:
        obstore.delete(self.store, id_)

    def rename(self, id_: str, to: str) -> None:
        obstore.rename(self.store, id_, to)

    def set_rights(self, id_: str, people: tuple[str, ...]) -> None:
        """An object says nothing of people."""

    def touch(self, id_: str, year: int) -> None:
        """Written again, at the server's own time: there is no other."""
        self.put(id_, bytes(obstore.get(self.store, id_).bytes()))

    def stop(self) -> None:
        self.door.close()

    def start(self) -> None:
        self.door.open()

    def errors(self, on: bool) -> None:
        self.door.errors = on

    def truth(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        ids = [one["path"] for page in obstore.list(self.store) for one in page]
        with ThreadPoolExecutor(8) as threads:
            return dict(
                zip(ids, threads.map(lambda id_: (bytes(obstore.get(self.store, id_).bytes()), ()), ids), strict=True)
            )


@contextmanager
def bucket_site(base: Path) -> Iterator[Site]:
    """A bucket in a server of its own."""
    with run_s3() as server:
        chosen = server.settings()
        bucket = str(chosen.url).removeprefix("s3://").partition("/")[0]
        door = Doorway(int(server.endpoint.rpartition(":")[2]))
        door.open()
        store = S3Store(
            bucket,
            endpoint=server.endpoint,
            region="us-east-1",
            access_key_id="k",
            secret_access_key="s",
            client_options={"allow_http": True},
            virtual_hosted_style_request=False,
        )
        try:
            yield BucketSite(store, {"bucket": bucket, "endpoint": f"http://127.0.0.1:{door.port}"}, door)
        finally:
            door.close()
