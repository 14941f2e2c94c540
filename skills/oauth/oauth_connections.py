"""Connections of people: begun, finished, used, refreshed one at a time, ended; tokens are sealed."""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from psycopg.types.json import Jsonb

from cluster.basics.errors import AosError, Forbidden, NotFound, Permanent, Transient
from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.canonical_json import json_digest
from cluster.state.db.postgres import Database, Row, SqlStore, unique_or_conflict
from cluster.state.identity.identity import secret_hash
from cluster.state.vault import Vault, secret_place
from skills.framework.credentials import Credential
from skills.framework.dependencies import Secret
from skills.framework.manifest import CredentialType
from skills.framework.open_credential import field_text, unsealed
from skills.framework.redaction import redact_secrets, register_opened
from skills.http_client.fetch import GuardedHttpClient
from skills.oauth.authorization_server import AuthorizationServer, find_server
from skills.oauth.token_endpoint import GrantEnded, OAuthTokens, TokenClient

TABLE = "oauth_connections"
ATTEMPT_SECONDS = 600
EARLY_SECONDS = 60  # before a token lapses it is refreshed
REQUEST_SECONDS = 10.0
RENEWAL_SECONDS = 15  # a renewal that was claimed and not ended, as its process was killed
PAUSE_SECONDS = 0.1
MOST_BYTES = 100_000


class NotConnected(Permanent):
    """The person for whom this runs has not connected the service, or the connection has ended."""

    code, status = "oauth_not_connected", 409


class ConnectionRefused(Forbidden):
    """The authorization server's answer was not accepted."""

    code = "oauth_refused"
    fix = "Begin again, in the browser in which you are signed in here."


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is sealed: tokens, and where they came from and may go."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    server: Mapping[str, Any]
    base_url: str

    def client(self, way: GuardedHttpClient, client: Mapping[str, str]) -> TokenClient:
        return TokenClient(way, AuthorizationServer(**self.server), client)


class OAuthConnections(SqlStore, queries="oauth_connections.sql"):
    """Connections of the people of a workspace by its credentials of type oauth."""

    def __init__(
        self, database: Database, audit: AuditLog, vault: Vault, way: GuardedHttpClient, clock: Callable[[], datetime]
    ) -> None:
        """`way` leads to authorization servers; `clock` gives the moment, with a time zone."""
        super().__init__(database)
        self._audit, self._vault, self._way, self._clock = audit, vault, way, clock
        self._renewals: dict[tuple[str | None, ...], asyncio.Task[_Kept]] = {}

    async def of_person(self, scope: Scope) -> list[Row]:
        """What the workspace can be connected to, and how far this person is: `none`, `connected` or `ended`."""
        rows = await self._db.read(scope, self._sql["all"], user=scope.user, **scope.keys)
        for row in rows:
            fields = row.pop("extra")
            row["base_url"] = str(fields.get("base_url", ""))
            if row["state"] == "connected" and row["settings"] != _settings_digest(fields):
                row["state"] = "ended"
        return rows

    async def begin(self, scope: Scope, credential: str, state: str, redirect_uri: str) -> str:
        """Where the person's browser is sent; `state` is a secret that is good once.

        Raises NotFound: there is no such credential; AosError: those of `find_server`.
        """
        client = await self._client(scope, credential)
        fields = _shown_fields(client)
        server, verifier = await find_server(self._way, fields), secrets.token_urlsafe(48)
        now = self._clock()
        attempt = {"hash": secret_hash(state), "verifier": verifier, "server": Jsonb(server.to_json())}
        attempt |= {"settings": _settings_digest(fields), "expires_at": now + timedelta(seconds=ATTEMPT_SECONDS)}
        async with self._db.transaction(scope) as tx:
            whose = {"user": scope.user, "credential": credential, **scope.keys}
            await tx.run(self._sql["forget_attempts"], now=now, **whose)
            await tx.run(self._sql["begin"], **attempt, **whose)
            await self._audit.record(tx, scope, "oauth.begin", credential, detail={"name": client.name})
        challenge = create_s256_code_challenge(verifier)
        return server.authorization_url(client["client_id"], fields.get("scope", ""), redirect_uri, state, challenge)

    async def complete(
        self, scope: Scope, credential: str, state: str, code: str, issuer: str, redirect_uri: str
    ) -> None:
        """Redeem the code that a browser brought back for tokens of this person.

        Raises:
            ConnectionRefused: this person has begun nothing of the kind, or another server answers; it is in the trail.
            AosError: those of `TokenClient.redeem_code`.
        """
        try:
            await self._complete(scope, credential, state, code, issuer, redirect_uri)
        except AosError as error:
            detail = {"code": error.code, "why": error.detail}
            await self._audit.denied(scope, "oauth.connect", credential, detail)
            raise

    async def _complete(
        self, scope: Scope, credential: str, state: str, code: str, issuer: str, redirect_uri: str
    ) -> None:
        client = await self._client(scope, credential)
        fields = _shown_fields(client)
        values = {"user": scope.user, "credential": credential, **scope.keys}
        async with self._db.transaction(scope) as tx:  # of its own: whatever comes of it, the state is used up
            attempt = await tx.one(self._sql["take"], hash=secret_hash(state), now=self._clock(), **values)
        if attempt is None:
            raise ConnectionRefused("it was begun by somebody else, for something else, too long ago, or used already")
        server = AuthorizationServer(**attempt["server"])
        if not server.is_answer(issuer):
            raise ConnectionRefused("another authorization server answers than was asked")
        if attempt["settings"] != _settings_digest(fields):
            raise ConnectionRefused("the credential was changed meanwhile")
        with _secrets_redacted(client, code=code, verifier=attempt["verifier"]):
            tokens = await TokenClient(self._way, server, client).redeem_code(code, redirect_uri, attempt["verifier"])
        id_, kept = str(uuid4()), _Kept(tokens.access, tokens.refresh, server.to_json(), fields["base_url"])
        row = {"id": id_, "settings": attempt["settings"], "scope": tokens.scope or fields.get("scope", "")}
        row |= self._sealed_row(scope, id_, kept, tokens)
        with unique_or_conflict("another browser has connected it at this moment"):
            async with self._db.transaction(scope) as tx:
                await tx.run(self._sql["disconnect"], **values)
                await tx.run(self._sql["connect"], **row, **values)
                await self._audit.record(tx, scope, "oauth.connect", credential, detail={"name": client.name})

    async def disconnect(self, scope: Scope, credential: str) -> bool:
        """Forget a person's tokens; true where the server has ended them, too. Raises NotFound: there are none."""
        values = {"user": scope.user, "credential": credential, **scope.keys}
        async with self._db.transaction(
            scope
        ) as tx:  # first: whoever renews them meanwhile finds no row to keep them in
            row = await tx.required(f"connection by {credential}", self._sql["disconnect"], **values)
            await self._audit.record(tx, scope, "oauth.disconnect", credential)
        return await self._revoke(scope, credential, row)

    async def open(self, scope: Scope, credential: str, client: Secret, refused: str | None = None) -> Secret:
        """The token of the person for whom a call is made, good for now.

        `client`: the opened credential; `refused`: a token that the service has just not taken.

        Raises:
            NotConnected: they have no connection, or it has ended, or nobody's rights are used.
            AosError: those of `TokenClient.refresh`.
        """
        values = {"user": scope.user, "credential": credential, **scope.keys}
        if scope.user is None:
            raise NotConnected(f"{client.name} is connected by people, and this runs for nobody")
        rows = await self._db.read(scope, self._sql["one"], **values)
        kept = self._kept(scope, rows[0] if rows else None, client)
        token = _token_of(client, kept)  # also where it is renewed: whoever watches the call learns of the old ones
        if self._is_good(rows[0], kept, refused):
            return token
        return _token_of(client, await self._join_renewal(scope, credential, client, refused))

    async def aclose(self) -> None:
        """Wait for the renewals under way: their old tokens are used up already."""
        if self._renewals:
            await asyncio.wait(set(self._renewals.values()))

    async def _join_renewal(self, scope: Scope, credential: str, client: Secret, refused: str | None) -> _Kept:
        """One renewal for all who wait in this process; it goes on when they go away, or its tokens would be lost."""
        key = scope.tenant, scope.workspace, scope.user, credential, refused
        task = self._renewals.get(key)
        if task is None:
            task = self._renewals[key] = asyncio.create_task(self._renew(scope, credential, client, refused))

            def forget(done: asyncio.Task[_Kept]) -> None:
                del self._renewals[key]
                if not done.cancelled():
                    done.exception()  # whoever still waits is told; where nobody does, it is nobody's

            task.add_done_callback(forget)
        return await asyncio.shield(task)

    async def _renew(self, scope: Scope, credential: str, client: Secret, refused: str | None) -> _Kept:
        values = {"user": scope.user, "credential": credential, **scope.keys}
        # One of all replicas asks the server: a second would use a refresh token that the first has used up, and
        # servers end a connection for that (RFC 9700, 4.14). No transaction is open meanwhile.
        while True:
            async with self._db.transaction(scope) as tx:
                row = await tx.one(self._sql["locked"], **values)
                kept = self._kept(scope, row, client)
                assert row is not None  # `_kept` has said so
                lasts = refused is None and self._lasts(row)
                if self._is_good(row, kept, refused) or (row["renewing"] and lasts):
                    return kept
                if not row["renewing"]:
                    await tx.run(self._sql["claim"], id=row["id"], seconds=RENEWAL_SECONDS, **scope.keys)
                    break
            await asyncio.sleep(PAUSE_SECONDS)
        try:
            return await self._refresh(scope, row, kept, client)
        except Transient:
            if lasts:
                return kept
            raise

    async def _refresh(self, scope: Scope, row: Row, kept: _Kept, client: Secret) -> _Kept:
        id_ = str(row["id"])
        try:
            tokens = await self._ask_for_tokens(scope, row, kept, client)
        except GrantEnded:
            await self._store(scope, id_, None, None)
            raise _not_connected(client, "has ended") from None
        except AosError:
            async with self._db.transaction(scope) as tx:
                await tx.run(self._sql["release"], id=id_, **scope.keys)
            raise
        fresh = _Kept(tokens.access, tokens.refresh, kept.server, kept.base_url)
        if not await self._store(scope, id_, fresh, tokens):
            await fresh.client(self._way, client).revoke(fresh.refresh)
            raise _not_connected(client, "was ended meanwhile")
        return fresh

    async def _ask_for_tokens(self, scope: Scope, row: Row, kept: _Kept, client: Secret) -> OAuthTokens:
        if not kept.refresh:
            if self._lasts(row):
                raise _not_connected(client, "is not taken by the service, though it has not lapsed")
            raise GrantEnded
        with _secrets_redacted(client, refresh=kept.refresh, access=kept.access):
            return await kept.client(self._way, client).refresh(kept.refresh)

    async def _store(self, scope: Scope, id_: str, fresh: _Kept | None, tokens: OAuthTokens | None) -> bool:
        """Other tokens, or none any more; False where the connection is gone."""
        row: dict[str, Any] = {"sealed": None, "expires_at": None}
        if fresh is not None and tokens is not None:
            row = self._sealed_row(scope, id_, fresh, tokens)
        async with self._db.transaction(scope) as tx:
            return await tx.run(self._sql["renew"], id=id_, **row, **scope.keys) > 0

    async def _revoke(self, scope: Scope, credential: str, row: Row) -> bool:
        try:
            client = await self._client(scope, credential)
            kept = self._kept(scope, row, client)
        except AosError:  # the credential is off or another one by now, or no key opens them: forgotten all the same
            return False
        return await kept.client(self._way, client).revoke(kept.refresh or kept.access)

    async def _client(self, scope: Scope, credential: str) -> Secret:
        """The credential, opened: as which client people connect, and to what."""
        rows = await self._db.read(scope, self._sql["client"], credential=credential, **scope.keys)
        if not rows or rows[0]["sealed"] is None:
            raise NotFound(f"oauth credential {credential}")
        found = Credential(str(rows[0]["id"]), rows[0]["name"], CredentialType.OAUTH, rows[0]["extra"])
        return unsealed(self._vault, scope, found, bytes(rows[0]["sealed"]))

    def _kept(self, scope: Scope, row: Row | None, client: Secret) -> _Kept:
        if row is None:
            raise _not_connected(client, "is not there")
        if row["sealed"] is None:
            raise _not_connected(client, "has ended")
        if row["settings"] != _settings_digest(_shown_fields(client)):
            raise _not_connected(client, "was made for another address or client than the credential has now")
        return _Kept(**json.loads(self._vault.open(bytes(row["sealed"]), _place(scope, str(row["id"])))))

    def _is_good(self, row: Row, kept: _Kept, refused: str | None) -> bool:
        if refused is not None:
            return kept.access != refused
        return self._lasts(row, EARLY_SECONDS if kept.refresh else 0)

    def _lasts(self, row: Row, seconds: float = 0) -> bool:
        ends: datetime | None = row["expires_at"]
        return ends is None or ends > self._clock() + timedelta(seconds=seconds)

    def _sealed_row(self, scope: Scope, id_: str, kept: _Kept, tokens: OAuthTokens) -> dict[str, Any]:
        ends = None if tokens.seconds is None else self._clock() + timedelta(seconds=tokens.seconds)
        return {"sealed": self._vault.seal(json.dumps(asdict(kept)), _place(scope, id_)), "expires_at": ends}


def _place(scope: Scope, id_: str) -> str:
    return secret_place(scope.tenant, scope.workspace, TABLE, id_)


def _shown_fields(client: Secret) -> dict[str, str]:
    return {name: value for name, value in client.items() if name in client.shown}


def _settings_digest(fields: Mapping[str, Any]) -> str:
    return json_digest({name: field_text(value) for name, value in fields.items()})


@contextmanager
def _secrets_redacted(client: Secret, **told: str) -> Iterator[None]:
    """What was told to a server is taken out of what it is quoted with."""
    hidden = Secret(client.name, CredentialType.OAUTH, {**told, "secret": client.get("client_secret", "")})
    try:
        yield
    except AosError as error:
        error.detail = redact_secrets(error.detail, [hidden])
        error.args = (error.detail or error.title,)
        raise


def _token_of(client: Secret, kept: _Kept) -> Secret:
    """As skills use it; only the origin that the person has agreed to gets it (`login.check_origin`)."""
    hidden = {"token": kept.access, "refresh": kept.refresh, "secret": client.get("client_secret", "")}
    register_opened(Secret(client.name, CredentialType.OAUTH, hidden))
    values = {"token": kept.access, "base_url": kept.base_url}
    return Secret(client.name, CredentialType.OAUTH, values, frozenset(("base_url",)))


def _not_connected(client: Secret, why: str) -> NotConnected:
    fix = f"Connect again at /console/connections, or with `aos credentials connect {client.name}`."
    return NotConnected(f"your connection by {client.name} {why}", fix=fix)
