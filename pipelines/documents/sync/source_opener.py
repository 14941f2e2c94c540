"""Opens sources: the kind by its name, the credential from the vault, and where their endpoints may lie."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlunsplit

from cluster.basics.addresses import Resolve, resolve_host
from cluster.basics.errors import Forbidden, Invalid, Unavailable
from cluster.basics.scope import Scope
from cluster.models.connections.egress import AddressRefused, EgressPolicy
from cluster.models.connections.endpoint_connection import checked_url
from cluster.state.db.postgres import Database, load_queries
from cluster.state.vault import Vault, secret_place
from pipelines.documents.sources.source_kinds import SOURCE_KINDS, WATCHED
from pipelines.documents.sources.source_port import (
    Source,
    SourceAway,
    SourceBounds,
    SourceDependencies,
    SourceInvalid,
    SourceKind,
    SourceOpening,
    SourceRefused,
)

_PORTS: Final = {"http": 80, "https": 443}
_CREDENTIALS: Final = "credentials"


class EndpointRefused(Forbidden):
    """A source may not lie at this address."""

    code = "address_not_allowed"
    fix = "Whoever runs the system may name it in AOS_SOURCES_ALLOW (host, host:port or a network such as 10.1.0.0/16)."


@dataclass(frozen=True, slots=True)
class EndpointGuard:
    """The addresses that sources may reach: public ones, and those that the administrator has allowed."""

    allow: Sequence[str] = ()
    find: Resolve = resolve_host

    async def check(self, url: str) -> str:
        """The URL to use. Without TLS it has the address that was checked, and only one that is listed in `allow`: who
        answers there may send a client on to wherever they like, and no certificate would tell.

        Raises SourceInvalid: it is no URL of http or https; EndpointRefused; Unavailable: its name has no address.
        """
        try:
            parts = checked_url(url)
        except Invalid as error:
            raise SourceInvalid("the endpoint is no URL of http or https without a user name") from error
        host = (parts.hostname or "").lower().rstrip(".")
        policy = EgressPolicy(tuple(one.strip().lower() for one in self.allow), find=self.find)
        try:
            found = await policy.addresses(host, parts.port or _PORTS[parts.scheme], first_tenant=False)
        except AddressRefused as error:
            raise EndpointRefused(error.detail) from error
        if parts.scheme == "https":
            return url
        if not all(self._is_listed(host, parts.port or _PORTS["http"], one) for one in found):
            raise EndpointRefused(f"{host} has no TLS, and is not listed", fix=f"Use https://. {EndpointRefused.fix}")
        address = ip_address(found[0].partition("%")[0])
        shown = f"[{address}]" if address.version == 6 else str(address)
        return urlunsplit(parts._replace(netloc=shown if parts.port is None else f"{shown}:{parts.port}"))

    async def check_host(self, host: str, port: int) -> str:
        """The address to connect to. Raises EndpointRefused; Unavailable: its name has no address."""
        policy = EgressPolicy(tuple(one.strip().lower() for one in self.allow), find=self.find)
        try:
            return (await policy.addresses(host.lower().rstrip("."), port, first_tenant=False))[0]
        except AddressRefused as error:
            raise EndpointRefused(error.detail) from error

    def _is_listed(self, host: str, port: int, address: str) -> bool:
        """True where the administrator has named the host, or a network that the address is in."""
        there = ip_address(address.partition("%")[0])
        for entry in (one.strip().lower() for one in self.allow):
            if entry in (host, f"{host}:{port}", f"[{host}]:{port}", f"[{host}]"):
                return True
            with suppress(ValueError):  # it names a host
                if there in ip_network(entry):
                    return True
        return False


class SourceOpener:
    """Opens a source for one piece of work; nothing is kept."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        base: str | None,
        guard: EndpointGuard = EndpointGuard(),
        kinds: Mapping[str, SourceKind] = SOURCE_KINDS,
        settle_seconds: float = 0.0,
        cache: Path | None = None,
        bounds: SourceBounds = SourceBounds(),
    ) -> None:
        """`base`: the folder below which folders may be read, if any may; the others as in `SourceDependencies`."""
        self._db, self._vault, self._kinds = database, vault, kinds
        root = None if base is None else Path(base)
        self._dependencies = SourceDependencies(
            root, guard.check, guard.check_host, settle_seconds=settle_seconds, cache=cache, bounds=bounds
        )
        self._sql = load_queries(Path(__file__).with_name("source_store.sql"))

    @property
    def kinds(self) -> Mapping[str, SourceKind]:
        """The kinds there are, by name."""
        return self._kinds

    def kind(self, name: str) -> SourceKind:
        """Raises SourceInvalid: there is no such kind."""
        if name not in self._kinds:
            raise SourceInvalid(f"there is no kind of source {name!r}", fix=f"There are {', '.join(self._kinds)}.")
        return self._kinds[name]

    def watched_kinds(self) -> tuple[str, ...]:
        """Names of those that can be watched."""
        return tuple(name for name in WATCHED if name in self._kinds)

    def watch_root(self, kind: str, settings: Mapping[str, Any]) -> Path:
        """The folder in which a change is one of the source's. Asks the file system.

        Raises SourceInvalid, SourceRefused: it is not there.
        """
        find = self.kind(kind).watch_root
        if find is None:
            raise SourceInvalid(f"a source of kind {kind} cannot be watched")
        return find(settings, self._dependencies)

    async def pin(self, kind: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Settings as they are kept, see `SourceKind`. Raises SourceInvalid, SourceRefused."""
        known = self.kind(kind)
        known.check(settings)
        return settings if known.pin is None else await asyncio.to_thread(known.pin, settings, self._dependencies)

    async def open(self, scope: Scope, kind: str, settings: Mapping[str, Any], credential: str | None) -> Source:
        """Raises SourceInvalid, SourceRefused, SourceAway; UnopenableSecret: the vault lacks the key."""
        known = self.kind(kind)
        known.check(settings)
        if credential is not None and not known.takes_credential:
            raise SourceInvalid(f"a source of kind {kind} takes no credential")
        secret = {} if credential is None else await self._open_credential(scope, credential)
        try:
            home = f"{scope.tenant}/{scope.workspace}"
            return await known.open(SourceOpening(settings, secret, home), self._dependencies)
        except Unavailable as error:  # its name has no address now
            raise SourceAway(error.detail) from error

    async def _open_credential(self, scope: Scope, name: str) -> dict[str, str]:
        async with self._db.transaction(scope) as tx:
            row = await tx.one(self._sql["credential"], **scope.keys, name=name)
        if row is None or row["sealed"] is None:
            why = "there is no such credential" if row is None else "it is off, or has run out"
            raise SourceRefused(f"credential {name!r}: {why}", fix="See them: aos credentials list.")
        if row["bound"]:
            raise SourceRefused(f"credential {name!r} is kept for some agents", fix="Store one for this source alone.")
        place = secret_place(scope.tenant, scope.workspace, _CREDENTIALS, row["id"])
        sealed: dict[str, str] = json.loads(self._vault.open(bytes(row["sealed"]), place))
        return {**{name: str(value) for name, value in row["extra"].items()}, **sealed}
