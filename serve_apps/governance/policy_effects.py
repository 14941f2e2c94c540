"""Effect of a policy before it holds: how many documents, pages and messages it would touch, without what they say."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, SqlStore
from pipelines.documents.privacy.kinds import PersonalDataKind
from pipelines.documents.privacy.personal_data import find_personal_data
from pipelines.documents.privacy.policy_rules import DataClass, PolicyBody, classify

MOST_PAGES = 5_000  # pages that one dry run looks at
BATCH = 200
SAMPLES = 10


@dataclass
class PolicyEffect:
    """Counts and samples; `complete` is false where there are more pages than one dry run looks at."""

    documents: int = 0
    documents_looked_at: int = 0
    pages_looked_at: int = 0
    complete: bool = True
    pages_with_finds: int = 0
    page_finds: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    runs: int = 0
    message_finds: dict[str, int] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)


class PolicyEffects(SqlStore, queries="policy_effects.sql"):
    """Reads, and changes nothing."""

    def __init__(self, database: Database) -> None:
        """Looks at the current versions of documents, and at stored messages."""
        super().__init__(database)

    async def effect(self, scope: Scope, body: PolicyBody) -> PolicyEffect:
        """What a policy would touch in a workspace: pages and documents where it has classes or says something of
        documents, messages and their runs where it says something of journals.

        Whoever the readers are: a rule holds for what its author may not read.
        """
        everybody, found = Scope.of_worker(scope.tenant, scope.workspace), PolicyEffect()
        if body.classes or "documents" in body.pii:
            await self._look_at_pages(everybody, body.classes, found)
        if "journals" in body.pii:
            async with self._db.transaction(everybody) as tx:
                row = await tx.only(self._sql["masked_messages"], **everybody.keys)
                kinds = await tx.all(self._sql["messages"], **everybody.keys)
                samples = await tx.all(self._sql["message_samples"], **everybody.keys, limit=SAMPLES)
            found.messages, found.runs = row["messages"], row["runs"]
            found.message_finds = {one["kind"]: int(one["finds"]) for one in kinds}
            found.samples += [
                {"session": str(one["session_id"]), "message": one["seq"], "finds": one["finds"]} for one in samples
            ]
        return found

    async def _look_at_pages(self, scope: Scope, classes: Sequence[DataClass], found: PolicyEffect) -> None:
        async with self._db.transaction(scope) as tx:
            found.documents = (await tx.only(self._sql["documents"], **scope.keys))["total"]
        document = _DocumentSoFar("", "")
        at = {"document": "", "number": 0}
        while found.pages_looked_at < MOST_PAGES:
            async with self._db.transaction(scope) as tx:
                rows = await tx.all(self._sql["pages"], **scope.keys, **at, limit=BATCH)
            if not rows:
                break
            at = {"document": rows[-1]["document_id"], "number": rows[-1]["number"]}
            finds = await asyncio.to_thread(_count_finds, rows)
            for row, kinds in zip(rows, finds, strict=True):
                if row["document_id"] != document.id:
                    await asyncio.to_thread(document.settle, classes, found)
                    document = _DocumentSoFar(row["document_id"], row["filename"])
                document.add(row, kinds, found)
        else:
            found.complete = False
        await asyncio.to_thread(document.settle, classes, found)


@dataclass
class _DocumentSoFar:
    id: str
    filename: str
    texts: list[str] = field(default_factory=list)
    finds: Counter[PersonalDataKind] = field(default_factory=Counter)

    def add(self, row: Row, kinds: Mapping[PersonalDataKind, int], found: PolicyEffect) -> None:
        self.texts.append(row["text"])
        self.finds.update(kinds)
        found.pages_looked_at += 1
        found.page_finds.update({str(kind): count for kind, count in kinds.items()})
        if not kinds:
            return
        found.pages_with_finds += 1
        if len(found.samples) < SAMPLES:
            shown = {str(kind): count for kind, count in kinds.items()}
            found.samples.append({"document": self.id, "page": row["number"], "finds": shown})

    def settle(self, classes: Sequence[DataClass], found: PolicyEffect) -> None:
        if not self.id:
            return
        found.documents_looked_at += 1
        of = classify(classes, self.filename, "\n".join(self.texts), self.finds)
        if of is not None:
            found.classes[of.name] += 1


def _count_finds(rows: Sequence[Row]) -> list[Counter[PersonalDataKind]]:
    return [Counter(one.kind for one in find_personal_data(row["text"])) for row in rows]
