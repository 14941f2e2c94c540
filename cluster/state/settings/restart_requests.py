"""Restarts that somebody asked for: written by the API, carried out by the supervisor, told apart by their number."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction, load_queries
from cluster.state.db.primary import TimelineFence, connect_primary_blocking
from configs.keys import APPLICATIONS, Part

CONNECT_SECONDS = 5
TAKEN_SECONDS = 10  # a supervisor looks every two seconds
LONGEST_SECONDS = 420  # as a roll-out that is given up


@dataclass(frozen=True, slots=True)
class RestartRecord:
    """One that was asked for.

    Attributes:
        taken_at: when a supervisor took it up; None where none has.
        done_at: when it ended.
        error: why it did not succeed.
    """

    id: int
    parts: tuple[Part, ...]
    asked_at: datetime
    taken_at: datetime | None
    done_at: datetime | None
    error: str | None


class RestartRequests(SqlStore, queries="restart_requests.sql"):
    """The API's side. Only the first tenant's transactions see and write any."""

    async def ask(self, tx: Transaction, scope: Scope, parts: tuple[Part, ...]) -> int:
        """Want parts restarted; the number of the wish."""
        row = await tx.only(self._sql["ask"], parts=[str(part) for part in parts], user=scope.user)
        return int(row["id"])

    async def show(self, scope: Scope, id_: int) -> RestartRecord:
        """The state of one request. Raises NotFound where there is none."""
        async with self._db.transaction(scope) as tx:
            return _read_restart(await tx.required(f"restart {id_}", self._sql["show"], id=id_))

    async def under_way(self, parts: tuple[Part, ...]) -> bool:
        """True where one of these parts is being restarted, or will be within seconds; for programs, not for people."""
        limits = {"longest": LONGEST_SECONDS, "soon": TAKEN_SECONDS}
        async with self._db.transaction() as tx:
            row = await tx.one(self._sql["under_way"], parts=[str(part) for part in parts], **limits)
        return bool(row and row["yes"])

    async def page(self, scope: Scope, limit: int = 20) -> list[RestartRecord]:
        """The newest first."""
        return [_read_restart(row) for row in await self._db.read(scope, self._sql["list"], limit=limit)]


class RestartLedger:
    """The supervisor's side: a connection for each call, as it asks rarely and must outlive Postgres."""

    def __init__(self, dsn: str, fence: TimelineFence | None = None) -> None:
        """`dsn`: the application's; `fence` refuses servers that were replaced."""
        self._dsn, self._fence, self._sql = dsn, fence, load_queries(Path(__file__).with_suffix(".sql"))

    def marks(self) -> dict[str, int]:
        """The number that each Serve application is to be deployed with; one that was never restarted has none.

        Raises Unavailable where Postgres does not answer, here and below.
        """
        with self._open_connection() as connection:
            found = {row["part"]: int(row["mark"]) for row in connection.execute(self._sql["marks"]).fetchall()}
        return {app: found[part] for part, apps in APPLICATIONS.items() if part in found for app in apps}

    def take(self) -> Mapping[int, tuple[str, ...]]:
        """Claim the restarts that are due now, by number; nobody else gets them."""
        with self._open_connection() as connection:
            rows = connection.execute(self._sql["take"]).fetchall()
        return {int(row["id"]): tuple(row["parts"]) for row in rows}

    def ask(self, parts: tuple[Part, ...]) -> int:
        """Want parts restarted, as whoever started them; the number of the wish."""
        with self._open_connection() as connection:
            named = {"parts": [str(part) for part in parts], "user": None}
            row = connection.execute(self._sql["ask"], named).fetchone()
        assert row is not None
        return int(row["id"])

    def ended(self, id_: int) -> str | None:
        """Why one did not succeed, empty where it did; None while it is not over."""
        with self._open_connection() as connection:
            row = connection.execute(self._sql["show"], {"id": id_}).fetchone()
        return None if row is None or row["done_at"] is None else row["error"] or ""

    def waiting(self, before: datetime) -> Mapping[int, tuple[str, ...]]:
        """Those that are not over, and were asked for before this moment, by number."""
        with self._open_connection() as connection:
            rows = connection.execute(self._sql["waiting"], {"before": before}).fetchall()
        return {int(row["id"]): tuple(row["parts"]) for row in rows}

    def now(self) -> datetime:
        """The moment by Postgres' clock: what is changed later was not yet read by what starts now."""
        with self._open_connection() as connection:
            row = connection.execute(self._sql["now"]).fetchone()
        assert row is not None
        return row["now"]

    def done(self, ids: list[int], parts: list[str], began: datetime, error: str | None = None) -> None:
        """It ended; without an error, what these parts waited for when it began counts now."""
        with self._open_connection() as connection:
            connection.execute(self._sql["done"], {"ids": ids, "error": error})
            if error is None:
                connection.execute(self._sql["settled"], {"parts": parts, "before": began})

    def all_done(self, before: datetime) -> None:
        """Everything was started anew after this moment."""
        with self._open_connection() as connection:
            for query in ("all_done", "all_settled"):
                connection.execute(self._sql[query], {"before": before})

    @contextmanager
    def _open_connection(self) -> Iterator[psycopg.Connection[Row]]:
        try:
            with connect_primary_blocking(
                self._dsn, self._fence, connect_timeout=CONNECT_SECONDS, row_factory=dict_row
            ) as connection:
                yield connection
        except psycopg.Error as error:
            raise Unavailable(f"Postgres does not answer: {error}") from error


def _read_restart(row: Row) -> RestartRecord:
    return RestartRecord(**row | {"parts": tuple(map(Part, row["parts"]))})
