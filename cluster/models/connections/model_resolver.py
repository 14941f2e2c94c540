"""Opens models: finds a connection's endpoint once, remembers it, and what was learned of it, for the process."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from cluster.basics.retry import MODEL_WAITS
from cluster.basics.scope import Scope
from cluster.models.chat.factory import open_model
from cluster.models.chat.vendor_sdk import ChatTimeouts, EndpointQuirks
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.egress import ModelClients
from cluster.models.connections.endpoint_connection import ConnectionId, ModelConnection, Provider, candidate_urls
from cluster.models.connections.probe import ProbeResult, probe_connection
from cluster.models.ports import ChatModel
from configs.sections import ModelsSettings

MOST_KNOWN = 1000  # addresses that are remembered before the oldest is forgotten

Address = tuple[ConnectionId, str, Provider, str]


@dataclass(slots=True)
class _Known:
    """Facts that the process remembers of an address."""

    endpoint: str | None = None
    habits: EndpointQuirks = field(default_factory=EndpointQuirks)


class ModelResolver:
    """Resolves connections for the router: lists a workspace's, and opens the model behind one."""

    def __init__(
        self,
        connections: ConnectionStore,
        clients: ModelClients,
        settings: ModelsSettings,
        sleep: Callable[[float], Awaitable[None]],
        *,
        waits: Sequence[float] = MODEL_WAITS,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clients` are the process's for models (see `model_clients`); `waits` are those between attempts."""
        self._connections, self._clients, self._settings = connections, clients, settings
        self._sleep, self._waits, self._chance, self._clock = sleep, waits, chance, clock
        self._addresses: dict[Address, _Known] = {}

    async def offered(self, scope: Scope) -> tuple[Sequence[ModelConnection], ConnectionId | None]:
        """Every connection of the workspace, enabled or not, and the one that is asked where an agent names none."""
        return await self._connections.offered(scope)

    async def check(self, base_url: str, *, first_tenant: bool) -> None:
        """Refuse an address that a stored connection may not have; see `EgressPolicy.check`."""
        await self._clients.egress.check(base_url, first_tenant=first_tenant)

    async def open(self, scope: Scope, connection: ModelConnection) -> ChatModel:
        """The model behind a connection; its candidates are probed where nobody knows yet which address answers.

        Raises Unusable: its key cannot be opened; Invalid: its URL is none.
        """
        key = await self._connections.key(scope, connection)
        known = self._known_address(connection)
        endpoint = connection.endpoint or known.endpoint
        if endpoint is None and len(candidate_urls(connection.base_url, connection.provider)) > 1:
            endpoint = (await self._probe_endpoint(scope, connection, key)).endpoint
        of = replace(connection, endpoint=endpoint), key, self._clients.of(connection), self._sleep
        limits = ChatTimeouts(connect=self._settings.connect_seconds)
        opener = partial(open_model, habits=known.habits, limits=limits, waits=self._waits, chance=self._chance)
        return await asyncio.to_thread(opener, *of)  # the first one imports its dialect's library

    async def test(self, scope: Scope, connection: ModelConnection) -> ProbeResult:
        """Try it now, and remember the address that answers. Raises Unusable: its key cannot be opened."""
        key = await self._connections.key(scope, connection)
        return await self._probe_endpoint(scope, connection, key)

    async def _probe_endpoint(self, scope: Scope, connection: ModelConnection, key: str | None) -> ProbeResult:
        client, seconds = self._clients.of(connection), self._settings.probe_seconds
        found = await probe_connection(connection, key, client, seconds, self._clock)
        if found.endpoint is not None:
            self._known_address(connection).endpoint = found.endpoint
            if found.endpoint != connection.endpoint:
                await self._connections.found(scope, connection, found.endpoint)
        return found

    def _known_address(self, connection: ModelConnection) -> _Known:
        address = (connection.id, connection.base_url, connection.provider, connection.model)
        if address not in self._addresses and len(self._addresses) >= MOST_KNOWN:
            self._addresses.pop(next(iter(self._addresses)))
        return self._addresses.setdefault(address, _Known())
