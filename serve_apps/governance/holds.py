"""Legal holds: what they keep is not deleted, erased or overwritten, until somebody releases them for a reason."""

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.ids import as_uuid, uuid_of
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction


class AlreadyReleased(Conflict):
    """This hold was released before."""

    code = "hold_released"
    fix = "Put a new hold on the object if it has to be kept again."


class LegalHolds(SqlStore, queries="holds.sql"):
    """Holds of one tenant on documents, people and workspaces; many may stand on one object. Postgres enforces them."""

    async def page(
        self, scope: Scope, skip: int, limit: int, *, standing: bool, object_id: str | None = None
    ) -> tuple[list[Row], int]:
        """The newest first, and how many there are; with `standing` without those released."""
        named = {"tenant": scope.tenant, "standing": standing, "object": object_id}
        async with self._db.transaction(scope) as tx:
            return await tx.page(self._sql["list"], self._sql["total"], skip=skip, limit=limit, **named)

    async def put(self, tx: Transaction, scope: Scope, kind: str, object_id: str, name: str, reason: str) -> Row:
        """A new hold. Raises NotFound: there is no such document, person or workspace in this tenant."""
        its = object_id if kind == "document" else as_uuid(object_id)
        await tx.one(self._sql["wait_for_deletion"], tenant=scope.tenant)
        # What is being deleted at this moment was waited for, and is not there now. No row is locked: whoever deletes
        # one has it locked when it waits for this transaction, and the two would wait for each other.
        if its is None or await tx.one(self._sql[f"find_{kind}"], object=its, tenant=scope.tenant) is None:
            raise NotFound(f"{kind} {object_id}")
        named = {"kind": kind, "object": its, "name": name, "reason": reason}
        return await tx.only(self._sql["put"], tenant=scope.tenant, user=scope.user, **named)

    async def release(self, tx: Transaction, scope: Scope, hold: str, reason: str) -> Row:
        """Let go of the object, unless other holds stand on it.

        Raises:
            NotFound: no such hold.
            AlreadyReleased: it was released before.
        """
        named = {"hold": uuid_of(hold, "hold"), "tenant": scope.tenant}
        row = await tx.required(f"hold {hold}", self._sql["lock"], **named)
        if row["released_at"] is not None:
            raise AlreadyReleased(f"{row['name']}: {row['released_at']:%Y-%m-%d %H:%M}")
        return await tx.only(self._sql["release"], **named, user=scope.user, reason=reason)
