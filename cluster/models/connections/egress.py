"""Egress policy for models of stored connections: no way round to internal machines (OWASP SSRF)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult

import httpcore2
import httpx2

from cluster.basics.addresses import Address, Resolve, is_loopback, is_public, resolve_host
from cluster.basics.bounded_answers import AnswerBounds, bounded_hooks
from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.models.connections.endpoint_connection import ModelConnection, checked_url
from cluster.models.model_errors import Unusable
from configs.sections import ModelsSettings

_PORTS = {"http": 80, "https": 443}
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=30)
_TIMEOUT = httpx2.Timeout(120, connect=10)


class AddressRefused(Unusable):
    """A model may not live at this address."""

    code = "address_not_allowed"
    fix = (
        "Whoever runs the system may name it in AOS_MODELS_ALLOW (host, host:port or a network such as 10.1.0.0/16), "
        "or configure it as LLM_BASE_URL or in the connections file."
    )


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The addresses that stored connections may reach. What the operator configures is not asked about."""

    # Addresses that are not public and may be used all the same: `host`, `host:port`, or a network.
    allow: tuple[str, ...] = ()
    # Whether people of the first tenant, who run the whole system, may use models on this machine.
    loopback: bool = False
    find: Resolve = resolve_host  # names of hosts to addresses

    async def addresses(self, host: str, port: int, *, first_tenant: bool) -> Sequence[str]:
        """The addresses to connect to: those that were checked, whatever the name means a moment later.

        `host`: lower case, IPv6 without brackets; `first_tenant`: whether the connection belongs to it.

        Raises AddressRefused: one of them is neither public nor allowed; Unavailable: the name has none.
        """
        found = await self.find(host, port)
        if not found:
            raise Unavailable(f"{host} has no address")
        named = any(_entry_names_host(entry, host, port) for entry in self.allow)
        for text in found:
            address = ip_address(text.partition("%")[0])
            if not (named or self._is_allowed(address, first_tenant)):
                raise AddressRefused(f"{host} leads to {address}, which is not a public address")
        return found

    async def check(self, base_url: str, *, first_tenant: bool) -> None:
        """As `addresses`, for one that is to be stored; unknown names pass. Raises Invalid: no URL; AddressRefused."""
        try:
            await self.addresses(*_host_and_port(checked_url(base_url)), first_tenant=first_tenant)
        except Unavailable:
            return  # it is asked again with each connection to it

    def _is_allowed(self, address: Address, first_tenant: bool) -> bool:
        if is_public(address) or any(address in network for network in _allowed_networks(self.allow)):
            return True
        return self.loopback and first_tenant and is_loopback(address)


def egress_of(allow: Iterable[str], listens_on: str) -> EgressPolicy:
    """From the settings `models.allow` and `http.host`: where only this machine reaches us, its people may reach it.

    Raises InvalidSettings: an entry names neither a host nor a network.
    """
    entries = tuple(entry.strip().lower() for entry in allow)
    for entry in entries:
        if not entry or "://" in entry or (entry.count("/") and not list(_allowed_networks((entry,)))):
            fix = "Write for example models.lan:8080, 10.1.0.7 or 10.1.0.0/16."
            raise InvalidSettings(f"AOS_MODELS_ALLOW: {entry!r} is no host, host:port or network", fix=fix)
    try:
        own = is_loopback(ip_address(listens_on.strip("[]")))
    except ValueError:
        own = listens_on.lower() == "localhost"
    return EgressPolicy(entries, own)


@dataclass(frozen=True, slots=True)
class ModelClients:
    """The process's HTTP clients for models; none follows redirects."""

    configured: httpx2.AsyncClient  # for what the operator wrote into settings or the connections file; reaches all
    first_tenant: httpx2.AsyncClient  # for its stored connections; each is made to a checked address
    others: httpx2.AsyncClient  # the same for those of other tenants
    egress: EgressPolicy = EgressPolicy()  # what is checked

    def of(self, connection: ModelConnection) -> httpx2.AsyncClient:
        """The client for calls of a connection."""
        if connection.origin != "row":
            return self.configured
        return self.first_tenant if connection.first_tenant else self.others

    async def aclose(self) -> None:
        """Close all connections."""
        for client in (self.configured, self.first_tenant, self.others):
            await client.aclose()


def model_client(bounds: AnswerBounds = AnswerBounds()) -> httpx2.AsyncClient:
    """A client for models that are configured: as many streams as there are turns, and no redirect is followed."""
    return httpx2.AsyncClient(limits=_LIMITS, **_client_options(bounds))


def model_clients(egress: EgressPolicy, bounds: AnswerBounds = AnswerBounds()) -> ModelClients:
    """All of them. Where the environment names a proxy, that connects in our place, and by its own rules."""
    pools = [_Checked(egress, first_tenant=first) for first in (True, False)]
    mine, others = (httpx2.AsyncClient(transport=pool, **_client_options(bounds)) for pool in pools)
    return ModelClients(model_client(bounds), mine, others, egress)


def clients_of(settings: ModelsSettings, own_host: str) -> ModelClients:
    """All of them as settings say; `own_host` is where the product itself listens."""
    bounds = AnswerBounds(settings.answer_bytes, settings.event_bytes)
    return model_clients(egress_of(settings.allow, own_host), bounds)


def _client_options(bounds: AnswerBounds) -> dict[str, Any]:
    hooks = bounded_hooks("the model's server", bounds.answer, bounds.event)
    return {"follow_redirects": False, "timeout": _TIMEOUT, "event_hooks": hooks}


class _Checked(httpx2.AsyncHTTPTransport):
    """The network, with a look at each address before it is connected to.

    Names stay names for TLS and for the pool of connections; only whoever opens a socket is told an address.
    """

    def __init__(self, egress: EgressPolicy, *, first_tenant: bool) -> None:
        super().__init__(limits=_LIMITS, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            max_connections=None,
            max_keepalive_connections=100,
            keepalive_expiry=30,
            network_backend=_CheckedBackend(egress, first_tenant),
        )


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, egress: EgressPolicy, first_tenant: bool) -> None:
        self._egress, self._first_tenant = egress, first_tenant
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """To the first of the checked addresses that takes the connection."""
        try:
            found = await self._egress.addresses(host, port, first_tenant=self._first_tenant)
        except Unavailable as error:
            raise httpcore2.ConnectError(error.detail) from error
        for address in found[:-1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._network.connect_tcp(found[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


def _host_and_port(parts: SplitResult) -> tuple[str, int]:
    host = (parts.hostname or "").lower().rstrip(".")
    return host, parts.port or _PORTS[parts.scheme]


def _entry_names_host(entry: str, host: str, port: int) -> bool:
    """True where an entry is exactly this host, or this host and port."""
    bare = host.lower().rstrip(".").strip("[]")
    return entry in (bare, f"{bare}:{port}", f"[{bare}]:{port}", f"[{bare}]")


def _allowed_networks(allow: Iterable[str]) -> Iterator[IPv4Network | IPv6Network]:
    for entry in allow:
        try:
            yield ip_network(entry)
        except ValueError:
            continue
