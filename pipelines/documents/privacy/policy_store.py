"""Policies of tenants and workspaces, in versions: nothing about one is changed silently."""

from collections.abc import Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.ids import scoped_id
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction
from pipelines.documents.privacy.answer_masks import AnswerMask
from pipelines.documents.privacy.answer_rules import AnswerRule
from pipelines.documents.privacy.policy_rules import (
    ACTIONS,
    Action,
    DataClass,
    GovernanceRules,
    Place,
    PolicyBody,
    answer_rules,
    classes_in_force,
    effective_action,
    parse_policy,
)


class PolicyChanged(Conflict):
    """Somebody changed this policy meanwhile."""

    code = "policy_changed"
    fix = "Read it again, and send the version that you have read."


class PolicyStore(SqlStore, queries="policy_store.sql"):
    """Changes happen in the caller's transaction, beside their record in the audit trail."""

    def __init__(self, database: Database, rules: GovernanceRules) -> None:
        """`rules`: those that hold everywhere."""
        super().__init__(database)
        self.rules = rules

    async def page(self, scope: Scope) -> list[Row]:
        """The policies of the tenant and of the workspace, as they are now."""
        async with self._db.transaction(scope) as tx:
            return await self._current(tx, scope)

    async def versions(self, scope: Scope, policy: str) -> list[Row]:
        """Every version of a policy, the newest first. Raises NotFound."""
        async with self._db.transaction(scope) as tx:
            return await self._versions(tx, scope, policy)

    async def action(self, tx: Transaction, scope: Scope, place: Place) -> Action:
        """What is done at a place under all policies that hold for the workspace."""
        return effective_action(place, *await self._bodies(tx, scope))

    async def answer_rules(self, tx: Transaction, scope: Scope, place: Place = "answers") -> tuple[AnswerRule, ...]:
        """What answers, or the passages of a search, show of personal data; empty where nothing is looked for."""
        return answer_rules(place, *await self._bodies(tx, scope))

    async def classes(self, tx: Transaction, scope: Scope) -> tuple[DataClass, ...]:
        """The classes of data that hold for the workspace, the lowest first."""
        return classes_in_force(*await self._bodies(tx, scope))

    async def mask(self, scope: Scope, place: Place = "answers") -> AnswerMask | None:
        """The mask of one answer, or of one search; None where nothing is looked for."""
        async with self._db.transaction(scope) as tx:
            rules = await self.answer_rules(tx, scope, place)
        return AnswerMask(rules) if rules else None

    async def effective(self, scope: Scope) -> dict[Place, Action]:
        """What is done at each place."""
        async with self._db.transaction(scope) as tx:
            return {place: await self.action(tx, scope, place) for place in ACTIONS}

    async def masks_journals(self, tx: Transaction, scope: Scope) -> bool:
        """Whether runs that begin now keep placeholders for personal data."""
        return await self.action(tx, scope, "journals") == "mask"

    async def of_documents(self, tx: Transaction, scope: Scope) -> Action:
        """What is done with personal data on pages that are read from now on."""
        return await self.action(tx, scope, "documents")

    async def add(
        self, tx: Transaction, scope: Scope, policy: UUID, name: str, body: PolicyBody, *, tenant_wide: bool
    ) -> Row:
        """The first version. Raises UnknownReference."""
        self.rules.resolve(body.references)
        of = None if tenant_wide else scope.workspace
        return await self._add(tx, scope, str(policy), 1, of, name, body, active=True)

    async def change(
        self, tx: Transaction, scope: Scope, policy: str, version: int, name: str, body: PolicyBody
    ) -> Row:
        """Another version after `version`, which is the one that was read.

        Raises NotFound, UnknownReference, and PolicyChanged where there is a newer one.
        """
        self.rules.resolve(body.references)
        last = await self._last(tx, scope, policy, version)
        return await self._add(tx, scope, policy, version + 1, last["workspace_id"], name, body, active=True)

    async def retire(self, tx: Transaction, scope: Scope, policy: str) -> Row:
        """A version that says it holds no longer. Raises NotFound."""
        last = await self._last(tx, scope, policy, None)
        body = parse_policy(last["body"])
        version = last["version"] + 1
        return await self._add(tx, scope, policy, version, last["workspace_id"], last["name"], body, active=False)

    async def last(self, scope: Scope, policy: str) -> Row:
        """A policy as it is now. Raises NotFound."""
        return (await self.versions(scope, policy))[0]

    async def _bodies(
        self, tx: Transaction, scope: Scope
    ) -> tuple[Sequence[PolicyBody], Sequence[PolicyBody], Sequence[PolicyBody]]:
        rows = await self._current(tx, scope)
        tenant = [parse_policy(row["body"]) for row in rows if row["workspace_id"] is None]
        workspace = [parse_policy(row["body"]) for row in rows if row["workspace_id"] is not None]
        return self.rules.policies, tenant, workspace

    async def _current(self, tx: Transaction, scope: Scope) -> list[Row]:
        return await tx.all(self._sql["current"], tenant=scope.tenant, workspace=scope.workspace)

    async def _versions(self, tx: Transaction, scope: Scope, policy: str) -> list[Row]:
        rows = await tx.all(self._sql["versions"], **scoped_id(scope, "policy", policy))
        if not rows or not rows[0]["active"]:
            raise NotFound(f"policy {policy}")
        return rows

    async def _last(self, tx: Transaction, scope: Scope, policy: str, version: int | None) -> Row:
        await tx.run(self._sql["lock"], policy=policy)
        last = (await self._versions(tx, scope, policy))[0]
        if version is not None and last["version"] != version:
            raise PolicyChanged(f"its version is {last['version']}, yours is {version}")
        return last

    async def _add(
        self,
        tx: Transaction,
        scope: Scope,
        policy: str,
        version: int,
        of: str | None,
        name: str,
        body: PolicyBody,
        *,
        active: bool,
    ) -> Row:
        values = {"policy": policy, "version": version, "of": of, "name": name, "active": active, "user": scope.user}
        made = await tx.only(self._sql["add"], tenant=scope.tenant, body=Jsonb(body.model_dump(mode="json")), **values)
        # What is remembered of searches says of which class documents are under the rules of before.
        await tx.run(self._sql["forget"], tenant=scope.tenant, of=of)
        return made
