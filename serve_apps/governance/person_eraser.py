"""A person goes for good: account, conversations, runs, memory, keys; the trail keeps an id without a name."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from psycopg import sql

from cluster.basics.errors import NotFound
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Scope, WorkspaceId
from cluster.state.db.postgres import Database, Transaction, load_queries
from serve_apps.governance.erasure_case import Erasure, ErasureStore, ErasureTarget
from serve_apps.governance.marks import ErasureMarks, MarkFinder
from serve_apps.governance.record_sweep import RecordSweep
from serve_apps.governance.redis_places import RedisPlaces
from serve_apps.governance.stock import STOCK
from serve_apps.governance.workspace_eraser import StillWorking

_IN_WORKSPACE: Final = (
    *("feedback", "answer_citations", "answers", "facts", "events", "event_streams", "run_steps", "approvals"),
    *("messages", "session_summaries", "episodes", "runs", "credentials", "sessions"),
    *("oauth_attempts", "oauth_connections"),
)
_OF_TENANT: Final = (
    *("memberships", "refresh_tokens", "api_keys", "external_accounts", "group_members", "sign_in_handoffs"),
    *("schedules", "scim_people", "provider_sessions", "rate_limits"),
)
_NAMING_USERS: Final = ("sessions", "runs", "answers", "facts", "run_feedback", "oauth_attempts", "oauth_connections")
_OWNER: Final = {
    "users": "id",
    "schedules": "owner_id",
    "rate_limits": "subject_id",
}  # the column; others call it user_id

# Beside documents: what names people among readers, and the query that takes a name away.
_NAMED_ELSEWHERE: Final = {
    "folder_readers": "change_folder_readers",
    "source_readers": "change_source_readers",
    "item_readers": "change_item_readers",
}


class PersonEraser:
    """People of one tenant, in all its workspaces."""

    def __init__(
        self, database: Database, finder: MarkFinder, sweep: RecordSweep, store: ErasureStore, redis: RedisPlaces
    ) -> None:
        """Queries are read from person_eraser.sql beside this file."""
        self._db, self._finder, self._sweep, self._store, self._redis = database, finder, sweep, store, redis
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def workspaces(self, scope: Scope) -> list[Scope]:
        """All of the tenant's, each as the system itself sees it."""
        rows = await self._db.read(scope, self._sql["workspaces"], tenant=scope.tenant)
        return [Scope.of_worker(scope.tenant, WorkspaceId(row["id"])) for row in rows]

    async def gather(self, scope: Scope, subjects: Sequence[str]) -> ErasureTarget:
        """What would go, with the marks it is found by.

        Raises:
            NotFound: nobody of this tenant has this id.
            LegalHold: they are held, or somebody else whose records name them, or a workspace with any of it.
            StillWorking: a run of theirs has not ended.
        """
        ids, names, counts = set[str](), set[str](), Counter[str]()
        for subject in subjects:
            user = uuid_of(subject, "user")
            async with self._db.transaction(scope) as tx:
                row = await tx.one(self._sql["account"], user=user, tenant=scope.tenant)
                if row is None:
                    raise NotFound(f"user {subject}")
                await tx.run(self._sql["refuse_held"], user=user, tenant=scope.tenant)
                for table in _OF_TENANT:
                    counts[table] += await self._count_rows(tx, table, user, scope)
            ids.add(user)
            names.add(self._finder.name(row["email"]))
            counts["users"] += 1
        users = [uuid_of(subject, "user") for subject in subjects]
        for inside in await self.workspaces(scope):
            async with self._db.transaction(inside) as tx:
                await tx.run(self._sql["refuse_held_quotes"], users=users, **inside.keys)
                for row in await tx.all(self._sql["conversations"], users=users, workspace=inside.workspace):
                    await tx.run(self._sql["refuse_held_workspace"], **inside.keys)
                    ids |= {row["session"], *row["runs"]}
                    counts["sessions"] += 1
                    counts["messages"] += row["messages"]
                    counts["runs"] += len(row["runs"])
                    if row["busy"]:
                        raise StillWorking(f"run {row['busy']} of theirs has not ended")
        content, marks = [{"person": user} for user in users], ErasureMarks(frozenset(ids), frozenset(names))
        for inside in await self.workspaces(scope):
            await self._sweep.refuse_held(inside, await self._sweep.find(inside, marks))
        return ErasureTarget(tuple(users), marks, content, (), counts)

    async def erase(self, scope: Scope, case: Erasure) -> None:
        """Workspace by workspace, then the accounts; each in a transaction that also counts."""
        for inside in await self.workspaces(scope):
            async with self._db.transaction(inside) as tx:
                went = await self._erase_inside(tx, inside, case)
                await self._store.count(tx, case.id, went)
            found = await self._sweep.find(inside, case.marks)
            async with self._db.transaction(inside) as tx:
                await self._sweep.refuse_held_until_end(tx, inside, found)
                went = await self._sweep.treat(tx, inside, found, case.marks, people=True)
                await self._store.count(tx, case.id, went)
        for user in case.subjects:
            async with self._db.transaction(scope) as tx:
                row = await tx.one(self._sql["account"], user=user, tenant=scope.tenant)
                if row is None:
                    continue
                went = Counter({table: await self._count_rows(tx, table, user, scope) for table in _OF_TENANT})
                went["redis"] += await self._redis.forget_login(row["email"])
                await tx.run(self._sql["delete_limits"], user=user, tenant=scope.tenant)
                went["users"] += await tx.run(self._sql["delete_account"], user=user, tenant=scope.tenant)
                await self._store.count(tx, case.id, went)

    async def left(self, scope: Scope, case: Erasure) -> dict[str, int]:
        """Rows that still belong to one of the accounts, or name one, by table."""
        counts: Counter[str] = Counter()
        async with self._db.transaction(scope) as tx:
            for user in case.subjects:
                for table in (*_OF_TENANT, "users"):
                    counts[table] += await self._count_rows(tx, table, user, scope)
        for inside in await self.workspaces(scope):
            named = {"users": list(case.subjects), "workspace": inside.workspace}
            async with self._db.transaction(inside) as tx:
                for table, column in _people_columns():
                    counts[table] += int((await tx.only(_count_of(table, column), **named))["total"])
                for table in _NAMING_USERS:
                    counts[table] += int((await tx.only(_count_of(table, "user_id"), **named))["total"])
                for query in ("readers", *_NAMED_ELSEWHERE):
                    for row in await tx.all(self._sql[query], workspace=inside.workspace):
                        counts["documents" if query == "readers" else query] += self._finder.is_in(
                            case.marks, row["readers"]
                        )
        return dict(counts)

    async def back(self, scope: Scope, subjects: Sequence[str], before: datetime) -> list[str]:
        """Those of some accounts that the tenant has from before a moment."""
        named = {"users": list(subjects), "tenant": scope.tenant, "before": before}
        return [row["id"] for row in await self._db.read(scope, self._sql["accounts"], **named)]

    async def _erase_inside(self, tx: Transaction, scope: Scope, case: Erasure) -> Counter[str]:
        went: Counter[str] = Counter()
        named: dict[str, Any] = {"users": list(case.subjects), "workspace": scope.workspace}
        busy = [row["busy"] for row in await tx.all(self._sql["conversations"], **named) if row["busy"]]
        if busy:
            raise StillWorking(f"run {busy[0]} of theirs has not ended")
        for step in _IN_WORKSPACE:
            went[step] += await tx.run(self._sql[f"delete_{step}"], **named)
        for table, column in _people_columns():
            went[f"{table}.{column}"] += await tx.run(_emptied(table, column), **named)
        for row in await tx.all(self._sql["readers"], workspace=scope.workspace):
            # Nobody takes their place: a document that was for them alone is not everybody's then.
            kept = ["user:erased" if self._finder.is_in(case.marks, one) else one for one in row["readers"]]
            if kept != row["readers"]:
                went["documents.readers"] += await tx.run(self._sql["change_readers"], document=row["id"], readers=kept)
        for query, change in _NAMED_ELSEWHERE.items():
            for row in await tx.all(self._sql[query], workspace=scope.workspace):
                kept = ["user:erased" if self._finder.is_in(case.marks, one) else one for one in row["readers"]]
                if kept != row["readers"]:
                    changed = {**row, "workspace": scope.workspace, "readers": kept}
                    went[query] += await tx.run(self._sql[change], **changed)
        principals = [row["principal"] for row in await tx.all(self._sql["principals"], workspace=scope.workspace)]
        gone = [one for one in principals if self._finder.is_in(case.marks, one)]
        went["document_principals"] += await tx.run(
            self._sql["forget_principals"], principals=gone, workspace=scope.workspace
        )
        return went

    async def _count_rows(self, tx: Transaction, table: str, user: str, scope: Scope) -> int:
        column = _OWNER.get(table, "user_id")
        query: Any = sql.SQL("select count(*) as total from {} where {} = %(user)s and tenant_id = %(tenant)s").format(
            sql.Identifier(table), sql.Identifier(column)
        )
        return int((await tx.only(query, user=user, tenant=scope.tenant))["total"])


def _people_columns() -> list[tuple[str, str]]:
    """Columns of workspaces' tables that name accounts and may be empty."""
    apart = ("restarts", "retention_rules")  # of the whole system, or of a tenant
    return [(table, column) for table, entry in STOCK.items() if table not in apart for column in entry.people]


def _emptied(table: str, column: str) -> Any:
    return sql.SQL(
        "update {0} set {1} = null where {1} = any(%(users)s::uuid[]) and workspace_id = %(workspace)s"
    ).format(sql.Identifier(table), sql.Identifier(column))


def _count_of(table: str, column: str) -> Any:
    return sql.SQL(
        "select count(*) as total from {} where {} = any(%(users)s::uuid[]) and workspace_id = %(workspace)s"
    ).format(sql.Identifier(table), sql.Identifier(column))
