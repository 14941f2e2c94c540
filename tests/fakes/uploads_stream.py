"""A stream of uploaded events over a real Valkey, with consumers in this process and in others that may be killed."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from redis.asyncio import Redis

from cluster.basics.scope import Role
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore
from configs.sections_events import EventStreamSettings
from serve_apps.events.event_letters import DEAD
from serve_apps.events.event_stream import UploadedEventStream
from tests.fakes import valkey
from tests.fakes.event_parts import event_intake
from tests.fakes.http import Office

STREAM = "uploads"


@dataclass
class UploadStream:
    """An office whose operator's account the events have, and a folder of its blobs and of scans."""

    dsn: str
    admin_dsn: str
    url: str
    folder: Path
    office: Office
    redis: Redis

    @property
    def settings(self) -> dict[str, Any]:
        account = self.office.emails[Role.OPERATOR]
        return {"stream": STREAM, "account": account, "poll_seconds": 0.02, "retry_seconds": 1.0, "attempts": 3}

    def put(self, key: str, content: bytes) -> str:
        """Bytes below a folder of the workspace's blobs; their key."""
        home = self.folder / "blobs" / self.office.scope.tenant / self.office.scope.workspace
        path = home / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return key

    def scan(self, name: str, content: bytes) -> str:
        """Bytes in the folder that may be scanned; their key."""
        path = self.folder / "scans" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return f"file:{path}"

    async def send(self, **event: Any) -> None:
        """As JSON in one field."""
        await self.redis.xadd(STREAM, {"event": json.dumps({"event_type": "DocumentUploadedEvent", **event})})

    async def dead(self) -> list[dict[str, str]]:
        found = await self.redis.xrange(STREAM + DEAD)
        return [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in found]

    async def waiting(self) -> int:
        """Entries that nobody has taken yet, or that somebody has and not ended."""
        (group,) = await self.redis.xinfo_groups(STREAM) or [{"lag": 1, "pending": 0}]
        return int(group["lag"] or 0) + int(group["pending"])

    async def consumer(self, database: Database, name: str = "one", **other: Any) -> UploadedEventStream:
        settings = EventStreamSettings(**{**self.settings, **other})
        intake, identity = event_intake(database, self.folder), IdentityStore(database)
        return UploadedEventStream(self.redis, intake, identity, settings, consumer=name)

    def start_process(self, name: str) -> subprocess.Popen[bytes]:
        """A consumer in a process of its own; whoever starts it ends it."""
        told = json.dumps([self.dsn, self.url, str(self.folder), self.settings, name])
        return subprocess.Popen([sys.executable, "-m", "tests.fakes.uploads_stream", told], stderr=subprocess.DEVNULL)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.admin_dsn) as owner:
            return owner.execute(statement.encode(), values).fetchall()


async def _consume(dsn: str, url: str, folder: str, settings: dict[str, Any], name: str) -> None:
    database = Database(dsn, size=4, timeout=10)
    await database.open()
    intake, identity = event_intake(database, Path(folder)), IdentityStore(database)
    redis = valkey.client(url)
    await UploadedEventStream(redis, intake, identity, EventStreamSettings(**settings), consumer=name).run()


if __name__ == "__main__":
    asyncio.run(_consume(*json.loads(sys.argv[1])))
