"""Opens the one credential that a call is entitled to, for that call only, and writes down that it did."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from cluster.basics.ids import as_uuid
from cluster.basics.scope import Role, Scope
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from cluster.state.vault import UnopenableSecret, Vault, secret_place
from skills.framework import builtin
from skills.framework.contract import ToolInvocation
from skills.framework.credential_store import QUERIES, TABLE
from skills.framework.credentials import (
    Credential,
    CredentialBinding,
    CredentialForbidden,
    CredentialRequest,
    DiscoveredCredential,
    discover_credential,
)
from skills.framework.dependencies import CredentialMissing, PersonTokens, Secret
from skills.framework.frozen_skill import skill_fingerprint
from skills.framework.manifest import CredentialType, Manifest
from skills.framework.redaction import register_opened

OPEN = "credential.open"  # the action in the trail


class VaultOpener:
    """`CredentialOpener` of the database: discovers, checks who calls, opens, and remembers nothing itself."""

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        vault: Vault,
        clock: Callable[[], datetime],
        ships: Callable[[Manifest], bool] = builtin.is_shipped,
        people: PersonTokens | None = None,
    ) -> None:
        """`clock` gives the moment; `ships` tells what came with this program; `people` have tokens of their own."""
        self._people = people
        self._db, self._audit, self._vault, self._clock, self._ships = database, audit, vault, clock, ships
        self._sql = load_queries(QUERIES)

    async def open(self, call: ToolInvocation, manifest: Manifest, refused: str | None = None) -> Secret:
        """See `CredentialOpener`. What is opened is known to whoever watches the call (`redaction.watching`).

        Raises:
            CredentialMissing, AmbiguousCredential: none, or several.
            CredentialForbidden: not for this agent, skill or role; it is in the trail.
            Sealed: the vault has not the key that it was sealed with.
            AosError: those of `PersonTokens.open`.
        """
        if manifest.credential is None:
            raise CredentialMissing(f"{manifest.name} does not say which type of credential it needs", fix="")
        scope = call.scope
        agent, session, mark = _uuid_text(call.agent), _uuid_text(call.session), skill_fingerprint(manifest)
        what = manifest.credential, manifest.name, manifest.kind
        need = CredentialRequest(*what, scope.role, agent, session, self._clock(), self._ships(manifest), mark)
        detail: dict[str, Any] = {"skill": need.skill, "type": need.type, "agent": need.agent, "role": need.role}
        try:
            async with self._db.transaction(scope) as tx:
                found = await self._discover_credential(tx, scope, need)
                secret = await self._open_secret(tx, scope, found.credential)
                told = detail | {"name": found.credential.name, "tier": found.tier}
                told |= {} if refused is None else {"renewed": True}
                await self._audit.record(tx, scope, OPEN, found.credential.id, detail=told)
        except CredentialForbidden as error:
            await self._audit.denied(scope, OPEN, need.skill, detail | {"why": error.detail})
            raise
        register_opened(secret)
        if secret.type is not CredentialType.OAUTH:
            return secret
        if self._people is None:
            raise CredentialMissing(f"{secret.name} is connected by people, and none are known here")
        token = await self._people.open(scope, found.credential.id, secret, refused)
        register_opened(token)
        return token

    async def _discover_credential(
        self, tx: Transaction, scope: Scope, need: CredentialRequest
    ) -> DiscoveredCredential:
        of = scope.keys
        agent = None if need.agent is None else await tx.one(self._sql["agent"], id=need.agent, **of)
        known = await tx.all(self._sql["known"], session=need.session, **of)
        granted = await tx.all(self._sql["granted"], type=need.type, **of)
        config = {} if agent is None else agent["config"]
        bindings, credentials = map(_binding_from_row, granted), map(_credential_from_row, known)
        return discover_credential(need, config, list(bindings), list(credentials))

    async def _open_secret(self, tx: Transaction, scope: Scope, found: Credential) -> Secret:
        row = await tx.one(self._sql["envelope"], id=found.id, **scope.keys)
        if row is None or row["sealed"] is None:
            raise CredentialMissing(f"{found.name} was switched off or taken away at this moment")
        return unsealed(self._vault, scope, found, bytes(row["sealed"]))


def unsealed(vault: Vault, scope: Scope, credential: Credential, sealed: bytes) -> Secret:
    """What a credential of a workspace opens to. Raises UnopenableSecret: the vault has not the key."""
    where = secret_place(scope.tenant, scope.workspace, TABLE, credential.id)
    try:
        hidden: dict[str, str] = json.loads(vault.open(sealed, where))
    except UnopenableSecret as error:
        raise UnopenableSecret(f"credential {credential.name!r} cannot be opened: {error.detail}") from None
    shown = {name: field_text(value) for name, value in credential.extra.items()}
    return Secret(credential.name, credential.type, shown | hidden, frozenset(shown))


def field_text(value: object) -> str:
    """A field that is no secret, as skills read it."""
    return value if isinstance(value, str) else json.dumps(value)


def _uuid_text(text: str | None) -> str | None:
    return None if text is None else as_uuid(text)


def _credential_from_row(row: Row) -> Credential:
    context = None if row["context_id"] is None else str(row["context_id"])
    type_, state = CredentialType(row["type"]), (row["extra"], row["is_active"], row["bound"])
    return Credential(str(row["id"]), row["name"], type_, *state, context, row["expires_at"])


def _binding_from_row(row: Row) -> CredentialBinding:
    agent = None if row["agent_id"] is None else str(row["agent_id"])
    role = None if row["role"] is None else Role(row["role"])
    return CredentialBinding(str(row["credential_id"]), agent, row["skill"], role, row["sha256"])
