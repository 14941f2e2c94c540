"""The examination that every check is given: the owner's connection, which sees all tenants, and the way to mend."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, InvalidSettings, Unavailable
from cluster.state.db.postgres import Connection, load_queries
from cluster.state.db.primary import TimelineFence, connect_primary
from serve_apps.integrity.integrity_finding import Family, IntegrityFinding

SQL: Final = load_queries(Path(__file__).with_name("examination.sql"))
ACTION: Final = "integrity.mend"
ACTOR: Final = "worker"
BATCH: Final = 200  # rows that one transaction mends
LOCK_SECONDS: Final = 5  # that a mend waits for live work
REPAIR_LOCK: Final = 7_240_126  # any constant: two repairs at once would wait for each other

# What a mend meets where somebody is at work there: the next repair finds it again.
LIVE: Final = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)

Tell = Callable[[str], None]


class IntegrityCheck(Protocol):
    """Port to one check."""

    @property
    def family(self) -> Family:
        """Where it looks."""

    @property
    def name(self) -> str:
        """By this it is told and recorded."""

    async def examine(self, work: "Examination") -> Sequence[IntegrityFinding]:
        """What is found; where the examination may mend, it is mended. Raises AosError: it cannot be looked at."""


@dataclass(frozen=True, slots=True)
class Examination:
    """One run over everything.

    Attributes:
        before: what was written later may be live work, and is left alone.
        apply: whether to mend; else nothing is written.
        first_tenant: whose trail names what was mended for tenants that are gone.
        tell: is given a line where something takes long.
    """

    owner: Connection
    now: datetime
    before: datetime
    apply: bool
    first_tenant: str
    tell: Tell

    async def rows(self, query: str, /, **values: Any) -> list[dict[str, Any]]:
        """Every row of a query of this folder."""
        return await (await self.owner.execute(query, {**values, "before": self.before})).fetchall()

    @asynccontextmanager
    async def mending(self, tenant: str | None, workspace: str | None = None) -> AsyncIterator[str]:
        """A transaction that mends things of a workspace, whose corpus is held as by whoever deletes in it.

        What it yields is the tenant in whose trail that is written: its own, or the first where it is gone.
        """
        async with self.owner.transaction():
            known = await self.rows(SQL["tenant"], tenant=tenant) if tenant else []
            trail = str(tenant) if known else self.first_tenant
            values = {"tenant": trail, "workspace": workspace or "", "seconds": f"{LOCK_SECONDS}s"}
            await self.owner.execute(SQL["enter"], values)
            if workspace is not None:
                await self.owner.execute(SQL["hold_corpus"], {"workspace": workspace})
            yield trail

    async def record(self, check: str, place: str, detail: Mapping[str, Any]) -> None:
        """A line of the trail, in the transaction that mends."""
        values = {"actor": ACTOR, "action": ACTION, "object": f"{check}:{place}", "detail": Jsonb(dict(detail))}
        await self.owner.execute(SQL["record"], values)


@asynccontextmanager
async def open_examination(
    conninfo: str | None, fence: TimelineFence | None, now: datetime, before: datetime, tell: Tell, *, apply: bool
) -> AsyncIterator[Examination]:
    """Connect as the schema's owner; without `apply` Postgres itself refuses every write.

    Raises InvalidSettings: no owner is configured, or row-level security binds it; Conflict: another repair runs;
    Unavailable: Postgres does not answer.
    """
    fix = "Set DATABASE_ADMIN_URL."
    if conninfo is None:
        raise InvalidSettings("only the owner of the tables sees all tenants, and none is configured", fix=fix)
    try:
        async with await connect_primary(conninfo, fence, autocommit=True, row_factory=dict_row) as owner:
            if not apply:
                await owner.execute("set default_transaction_read_only = on")
            role = await (await owner.execute(SQL["role"], {"lock": REPAIR_LOCK, "apply": apply})).fetchone()
            if role is None or not role["sees"]:
                raise InvalidSettings("this role does not see all tenants", fix=fix)
            if not role["alone"]:
                raise Conflict("another repair runs")
            if role["behind"]:
                raise Conflict("the tables are of an older release", fix="Run `aos up` once.")
            yield Examination(owner, now, before, apply, role["first_tenant"] or "", tell)
    except psycopg.OperationalError as error:
        raise Unavailable(f"Postgres went away: {error}", fix="Run it again: what was mended stays so.") from error
