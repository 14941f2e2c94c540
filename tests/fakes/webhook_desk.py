"""Webhooks of a workspace with events written straight into Postgres, and senders in this process and in others."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import psycopg

from cluster.basics.scope import Role
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore, WorkspaceMember
from cluster.state.webhooks.webhook_store import NewWebhook, ReplayRequest
from configs.sections_events import WebhookSettings
from serve_apps.events.webhook_sender import WebhookSender
from tests.fakes.event_parts import webhook_sender
from tests.fakes.http import Office
from tests.fakes.webhook_receiver import Receiver

FAST: dict[str, Any] = {
    "poll_seconds": 0.05,
    "seconds": 2,
    "rest_seconds": 60,
    "circuit_failures": 2,
    "longest_rest": 3600,
}
# Whatever has a time of its own, so that hours pass in no time.
TIMES = {
    "webhook_deliveries": ("queued_at", "next_at", "failed_at", "ended_at"),
    "webhooks": ("next_at", "lease_until", "failing_since"),
    "outbox": ("created_at",),
    "webhook_secrets": ("expires_at",),
}


@dataclass
class WebhookDesk:
    """An office, its database, and what was done in it."""

    dsn: str
    admin_dsn: str
    database: Database
    office: Office
    receiver: Receiver
    senders: list[WebhookSender] = field(default_factory=list)

    @property
    def settings(self) -> WebhookSettings:
        return WebhookSettings(hosts=(f"127.0.0.1:{self.receiver.port}",), **FAST)

    async def member(self, role: Role = Role.ADMIN) -> WorkspaceMember:
        identity = IdentityStore(self.database)
        found = await identity.credentials(self.office.emails[role])
        assert found is not None
        member = await identity.member(found.tenant, found.user)
        assert member is not None
        return member

    async def add(self, *topics: str, role: Role | None = None, owner: Role = Role.ADMIN, name: str = "crm") -> str:
        """A webhook to the receiver, which knows its secret from now on."""
        scope, sender = (await self.member(owner)).scope, self.sender()
        async with self.database.transaction(scope) as tx:
            new = NewWebhook(name, self.receiver.url, topics or ("*",), role)
            id_, secret = await sender.store.add(tx, scope, new)
        self.receiver.secrets.append(secret)
        return id_

    def sender(self, owner: str = "one") -> WebhookSender:
        return webhook_sender(self.database, self.settings, owner)

    async def open(self, owner: str = "one") -> WebhookSender:
        made = self.sender(owner)
        await made.open()
        self.senders.append(made)
        return made

    async def close(self) -> None:
        for one in self.senders:
            await one.close()
        self.senders.clear()

    def start_process(self) -> subprocess.Popen[bytes]:
        """A sender in a process of its own; whoever starts it ends it."""
        told = json.dumps([self.dsn, self.receiver.port])
        return subprocess.Popen([sys.executable, "-m", "tests.fakes.webhook_desk", told])

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What is read; what writes waits for locks that a sender of this process may hold, and is for `run`."""
        with psycopg.connect(self.admin_dsn, options="-c lock_timeout=20s") as owner:
            found = owner.execute(statement.encode(), values)
            return found.fetchall() if found.description else []

    async def run(self, statement: str, *values: Any) -> None:
        await asyncio.to_thread(self.sql, statement, *values)

    async def jobs(self, count: int, states: Sequence[str] = ("running", "completed")) -> list[str]:
        """Jobs that begin and end, all at once in their turns: two or more events each."""
        ids = [str(uuid4()) for _ in range(count)]
        await asyncio.to_thread(self._write_jobs, ids, states)
        return ids

    def _write_jobs(self, ids: Sequence[str], states: Sequence[str]) -> None:
        with psycopg.connect(self.admin_dsn, autocommit=True) as owner:
            for id_ in ids:
                owner.execute(
                    "insert into jobs (id, tenant_id, workspace_id, kind, lane) values (%s, %s, %s, 'upload', 'small')",
                    (id_, self.office.scope.tenant, self.office.scope.workspace),
                )
            for state in states:
                for id_ in ids:
                    owner.execute("update jobs set state = %s where id = %s", (state, id_))

    async def document(self, readers: Sequence[str] = ()) -> str:
        id_ = uuid4().hex
        keys = self.office.scope.tenant, self.office.scope.workspace
        await self.run(
            "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, readers)"
            " values (%s, %s, %s, %s, 'a.txt', 'text', 'upload', %s)",
            *(id_, *keys, f"upload:{id_}", list(readers)),
        )
        return id_

    async def pass_time(self, **span: float) -> None:
        """Hours or days pass: every moment that was written down is so much longer ago."""
        told = " ".join(f"{amount} {unit}" for unit, amount in span.items())
        for table, columns in TIMES.items():
            moved = ", ".join(f"{column} = {column} - %s::interval" for column in columns)
            await self.run(f"update {table} set {moved}", *[told] * len(columns))

    def states(self) -> dict[str, int]:
        return dict(self.sql("select state, count(*) from webhook_deliveries group by state"))  # type: ignore[arg-type]

    async def replay(self, webhook: str, **wanted: Any) -> int:
        scope, sender = (await self.member()).scope, self.sender()
        async with self.database.transaction(scope) as tx:
            return await sender.store.replay(tx, scope, webhook, ReplayRequest(**wanted))


async def until(true: Callable[[], bool], seconds: float = 30) -> None:
    """Returns when it is true."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 -- other processes bring it about
            await asyncio.sleep(0.02)


async def _send(dsn: str, port: int) -> None:
    database = Database(dsn, size=6, timeout=10)
    await database.open()
    settings = WebhookSettings(hosts=(f"127.0.0.1:{port}",), **FAST)
    await webhook_sender(database, settings, "a process").open()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_send(*json.loads(sys.argv[1])))
