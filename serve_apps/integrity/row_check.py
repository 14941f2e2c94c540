"""A check of rows: a table, a condition, and what mends; the table is read in ranges of pages and never as a whole."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from cluster.state.db.postgres import HELD, load_queries
from serve_apps.integrity.examination import BATCH, LIVE, SQL, Examination
from serve_apps.integrity.integrity_finding import EXAMPLES, Family, IntegrityFinding, some
from serve_apps.integrity.table_catalogue import StoredTable

_QUERIES: Final = load_queries(Path(__file__).with_suffix(".sql"))
PAGES: Final = 512  # of Postgres, 4 MiB, that one statement looks at
TOLD_AFTER: Final = 64  # ranges
DELETE: Final = "delete"

_LIVE: Final = (*LIVE, psycopg.errors.ForeignKeyViolation)


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Rows `x` of a table that fulfil a condition.

    Attributes:
        condition: SQL over `x`, and `%(before)s`, the moment after which what was written may be live.
        mend: `delete`, what is set otherwise, or "" where it is only told.
        label: SQL that names a row; by itself its primary key.
        searched: whether what is found by a search hangs on it, so that what is remembered of searches is old then.
    """

    family: Family
    name: str
    what: str
    table: StoredTable
    condition: str
    mend: str = ""
    label: str = ""
    fix: str = ""
    searched: bool = False

    async def examine(self, work: Examination) -> Sequence[IntegrityFinding]:
        """One finding, or none."""
        scan = _Scan(self, work)
        found = await scan.mend_all() if work.apply and self.mend else await scan.count_all()
        return [found] if found.count else []

    @property
    def empty(self) -> IntegrityFinding:
        """The finding of nothing."""
        place = self.table.name
        return IntegrityFinding(self.family, self.name, self.what, place, 0, (), bool(self.mend), fix=self.fix)


@dataclass(slots=True)
class _Tally:
    names: list[str] = field(default_factory=list)
    count: int = 0
    mended: int = 0
    held: int = 0
    busy: int = 0


class _Scan:
    """One way through one table."""

    def __init__(self, check: RowCheck, work: Examination) -> None:
        self._check, self._work, self._table = check, work, check.table
        scope = [name if name in check.table.columns else "null" for name in ("tenant_id", "workspace_id")]
        # What was written here by hand, or comes out of Postgres' own catalogue as names.
        self._parts = {
            "table": sql.Identifier(check.table.name),
            "name": _trusted(f"({check.label})::text" if check.label else _key_label(check.table)),
            "condition": _trusted(f"({check.condition}\n)"),
            "tenant": _trusted(f"{'x.' if scope[0] != 'null' else ''}{scope[0]}::text"),
            "workspace": _trusted(f"{'x.' if scope[1] != 'null' else ''}{scope[1]}::text"),
            "mend": _trusted(check.mend),
        }

    async def count_all(self) -> IntegrityFinding:
        tally = _Tally()
        async for first, end in self._ranges():
            (row,) = await self._ask("count", first=f"({first},0)", end=f"({end},0)", most=EXAMPLES)
            tally.count += row["total"]
            tally.names += row["names"] or []
        return self._finding(tally)

    async def mend_all(self) -> IntegrityFinding:
        tally = _Tally()
        async for first, end in self._ranges():
            after = f"({first},0)"
            while rows := await self._ask("some", after=after, end=f"({end},0)", most=BATCH):
                after = rows[-1]["place"]
                await self._mend_batch(rows, tally)
                if len(rows) < BATCH:
                    break
        return self._finding(tally)

    def _finding(self, tally: _Tally) -> IntegrityFinding:
        return replace(
            self._check.empty,
            count=tally.count,
            examples=some(tally.names),
            mended=tally.mended,
            held=tally.held,
            busy=tally.busy,
        )

    async def _mend_batch(self, rows: Sequence[dict[str, Any]], tally: _Tally) -> None:
        tally.count += len(rows)
        tally.names += [row["name"] for row in rows][: max(EXAMPLES - len(tally.names), 0)]
        homes: dict[tuple[str | None, str | None], list[dict[str, Any]]] = {}
        for row in rows:
            homes.setdefault((row["tenant"], row["workspace"]), []).append(row)
        for (tenant, workspace), some_rows in homes.items():
            await self._mend_rows(tenant, workspace, some_rows, tally)

    async def _mend_rows(
        self, tenant: str | None, workspace: str | None, rows: Sequence[dict[str, Any]], tally: _Tally
    ) -> None:
        try:
            went = await self._mend_at_once(tenant, workspace, [row["place"] for row in rows])
        except _LIVE:
            tally.busy += len(rows)
        except psycopg.DatabaseError as error:
            if error.sqlstate != HELD:
                raise
            if len(rows) == 1:
                tally.held += 1
                return
            for row in rows:  # one of them is held, and the others are not
                await self._mend_rows(tenant, workspace, [row], tally)
        else:
            tally.mended += len(went)
            tally.count -= len(rows) - len(went)  # no orphan any more when it was held: somebody was faster

    async def _mend_at_once(self, tenant: str | None, workspace: str | None, places: Sequence[str]) -> list[str]:
        """The names of the rows that were mended, each of which is looked at once more under the lock."""
        async with self._work.mending(tenant, workspace):
            query = "delete" if self._check.mend == DELETE else "set"
            went = [row["name"] for row in await self._ask(query, places=list(places))]
            if went:
                if self._check.searched and workspace is not None:
                    await self._work.owner.execute(SQL["changed"], {"workspace": workspace})
                detail = {"rows": went, "mend": self._check.mend, "workspace": workspace, "tenant": tenant}
                await self._work.record(self._check.name, self._table.name, detail)
            return went

    async def _ranges(self) -> AsyncIterator[tuple[int, int]]:
        """Pages from, and up to; what grows meanwhile is looked at too, and what is new there is live."""
        (size,) = await self._ask("pages", table=f'"{self._table.name}"')
        pages = int(size["pages"])
        for turn, first in enumerate(range(0, pages, PAGES)):
            if turn and turn % TOLD_AFTER == 0:
                self._work.tell(f"{self._check.name}, {self._table.name}: {100 * first // pages} %")
            yield first, first + PAGES

    async def _ask(self, query: str, **values: Any) -> list[dict[str, Any]]:
        composed = _trusted(_QUERIES[query]).format(**self._parts)
        return await (await self._work.owner.execute(composed, {**values, "before": self._work.before})).fetchall()


def _trusted(text: str) -> sql.SQL:
    return sql.SQL(text)


def _key_label(table: StoredTable) -> str:
    key = ", ".join(f'x."{name}"' for name in table.key)
    return f"concat_ws(' ', {key})" if key else "x.ctid::text"
