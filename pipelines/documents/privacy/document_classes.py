"""Classes of documents: by the rules of policies, or by hand; looked at again where rules or versions are others."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from time import monotonic

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction
from pipelines.documents.privacy.kinds import PersonalDataKind
from pipelines.documents.privacy.personal_data import find_personal_data
from pipelines.documents.privacy.policy_rules import DataClass, classify
from pipelines.documents.privacy.policy_store import PolicyStore

BATCH = 100  # documents that are settled together
REST = 2  # of a sweep that nobody waits for: people wait for the same process
MOST = 10_000  # documents of one sweep
PAGES = 50  # pages that are in memory at a time


class UnknownClass(Invalid):
    """No policy that holds here has such a class of data."""

    code = "unknown_class"
    fix = "GET /api/data-governance/policies lists them (aos governance policies)."


@dataclass(frozen=True, slots=True)
class DocumentClass:
    """The class of a document, None for none, and what says so: `policy`, `hand`; None: nobody has looked yet."""

    name: str | None
    rank: int | None
    by: str | None


class DocumentClasses(SqlStore, queries="document_classes.sql"):
    """Chunks and passages are of the class of their document: nothing has to be read again for another one."""

    def __init__(self, database: Database, policies: PolicyStore) -> None:
        """`policies` say which classes there are."""
        super().__init__(database)
        self._policies = policies
        self._swept: dict[str, tuple[int, str]] = {}  # by workspace: corpus and rules of its last whole sweep

    async def show(self, scope: Scope, document: str) -> DocumentClass:
        """The class of a document. Raises NotFound."""
        async with self._db.transaction(scope) as tx:
            named = {**scope.keys, "document": document}
            row = await tx.required(f"document {document}", self._sql["show"], **named)
        return DocumentClass(row["classification"], row["classification_rank"], row["classified_by"])

    async def highest(self, tx: Transaction, scope: Scope, documents: Sequence[str]) -> str | None:
        """The class of the highest rank among documents; None where they have none."""
        row = await tx.one(self._sql["highest"], **scope.keys, documents=list(documents))
        return None if row is None else str(row["classification"])

    async def set(self, tx: Transaction, scope: Scope, document: str, name: str | None) -> str | None:
        """Give a document a class by hand, or with None let the rules decide again; the class that it had.

        Raises NotFound, and UnknownClass.
        """
        known = {one.name: one for one in await self._policies.classes(tx, scope)}
        if name is not None and name not in known:
            raise UnknownClass(f"{name}; there are {', '.join(known)}")
        await lock_corpus(tx, scope)
        rank = None if name is None else known[name].rank
        named = {**scope.keys, "document": document, "name": name, "rank": rank}
        row = await tx.required(f"document {document}", self._sql["set"], **named)
        await mark_corpus_changed(tx, scope)  # what is remembered of searches says of which class it is
        before: str | None = row["before"]
        return before

    async def claim(self, now: datetime, every: timedelta) -> TenantId | None:
        """The tenant whose documents were not looked at for the longest time; its next turn is `every` later."""
        async with self._db.transaction() as tx:
            row = await tx.only(self._sql["claim"], now=now, every=every)
        return None if row["tenant"] is None else TenantId(row["tenant"])

    async def sweep_tenant(self, tenant: TenantId) -> int:
        """As `sweep`, through all of a tenant's workspaces."""
        rows = await self._db.read(Scope(tenant, WorkspaceId(tenant)), self._sql["workspaces"], tenant=tenant)
        return sum([await self._sweep_changed(tenant, row) for row in rows])

    async def rules(self, scope: Scope) -> str:
        """Fingerprint of the rules of now: what was looked at under others may be of any class."""
        everybody = Scope.of_worker(scope.tenant, scope.workspace)
        async with self._db.transaction(everybody) as tx:
            return fingerprint_of(await self._policies.classes(tx, everybody))

    async def _sweep_changed(self, tenant: TenantId, workspace: Row) -> int:
        """As `sweep`; nothing is looked for where neither documents nor rules changed since the last whole sweep."""
        scope = Scope.of_worker(tenant, WorkspaceId(workspace["id"]))
        state = (int(workspace["corpus_version"]), await self.rules(scope))
        if self._swept.get(workspace["id"]) == state:
            return 0
        done = await self.sweep(scope, MOST, rest=REST)
        if done < MOST:
            self._swept[workspace["id"]] = state
        return done

    async def sweep(self, scope: Scope, most: int = MOST, *, rest: float = 0) -> int:
        """Look at documents of a workspace that were not looked at under the rules of now; how many that were.

        They are settled in batches: whoever is stopped in the middle goes on with those that are left. `rest`: so many
        times as long as a batch took nothing is done after it.
        """
        everybody, done = Scope.of_worker(scope.tenant, scope.workspace), 0
        async with self._db.transaction(everybody) as tx:
            classes = await self._policies.classes(tx, everybody)
            names, ranks = [one.name for one in classes], [one.rank for one in classes]
            await tx.run(self._sql["rank"], **everybody.keys, names=names, ranks=ranks)
        rules, after = fingerprint_of(classes), ""
        while done < most:
            began, named = monotonic(), {"rules": rules, "limit": min(BATCH, most - done), "after": after}
            rows = await self._db.read(everybody, self._sql["due"], **everybody.keys, **named)
            if not rows:
                break
            found = [await self._class_of(everybody, row, classes) for row in rows]
            await self._settle(everybody, rows, found, rules)
            done, after = done + len(rows), rows[-1]["id"]
            await asyncio.sleep(rest * (monotonic() - began))
        return done

    async def left(self, scope: Scope) -> int:
        """How many documents of a workspace wait to be looked at."""
        everybody = Scope.of_worker(scope.tenant, scope.workspace)
        async with self._db.transaction(everybody) as tx:
            rules = fingerprint_of(await self._policies.classes(tx, everybody))
            row = await tx.only(self._sql["left"], **everybody.keys, rules=rules)
        return int(row["total"])

    async def _class_of(self, scope: Scope, document: Row, classes: Sequence[DataClass]) -> DataClass | None:
        if not classes:
            return None
        finds, highest, after = Counter[PersonalDataKind](), classify(classes, document["filename"], "", {}), -1
        while True:
            named = {"version": document["current_version"], "after": after, "limit": PAGES}
            pages = await self._db.read(scope, self._sql["pages"], **scope.keys, **named)
            if not pages:
                return highest
            after = pages[-1]["number"]
            text, counted = await asyncio.to_thread(_look_at, pages)
            finds.update(counted)
            found = classify(classes, document["filename"], text, finds)
            highest = max((one for one in (highest, found) if one), key=lambda one: one.rank, default=None)

    async def _settle(
        self, scope: Scope, documents: Sequence[Row], found: Sequence[DataClass | None], rules: str
    ) -> None:
        named = {
            "documents": [document["id"] for document in documents],
            "versions": [document["current_version"] for document in documents],
            "names": [of and of.name for of in found],
            "ranks": [of and of.rank for of in found],
        }
        async with self._db.transaction(scope) as tx:
            await lock_corpus(tx, scope)
            rows = await tx.all(self._sql["settle"], **scope.keys, **named, rules=rules)
            if any(row["changed"] for row in rows):  # searches remember what nobody had looked at as of any class
                await mark_corpus_changed(tx, scope)


def fingerprint_of(classes: Sequence[DataClass]) -> str:
    """The same for the same rules."""
    told = "\n".join(one.model_dump_json() for one in classes)
    return f"{sha256(told.encode()).hexdigest()[:16]}:"


def _look_at(pages: Sequence[Row]) -> tuple[str, Mapping[PersonalDataKind, int]]:
    finds = Counter[PersonalDataKind]()
    for page in pages:
        if page["personal_data"]:  # its text may be masked
            finds.update({PersonalDataKind(kind): int(count) for kind, count in page["personal_data"].items()})
        else:
            finds.update(one.kind for one in find_personal_data(page["text"]))
    return "\n".join(page["text"] for page in pages), finds
