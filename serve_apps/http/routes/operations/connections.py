"""Connections to language models: what there is, how each is signed in to, and whether it works. Keys only go in."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field, StringConstraints

from cluster.models.connections.connection_store import KEEP
from cluster.models.connections.egress import AddressRefused
from cluster.models.connections.endpoint_connection import (
    TRAITS,
    AuthMode,
    ConnectionId,
    Forms,
    ModelConnection,
    Provider,
    detect_provider,
    usual_auth,
)
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import Name, RequestBody, Text
from serve_apps.http.response_shapes import copy_fields

router = APIRouter(route_class=GuardedRoute, tags=["models"])

Url = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
# Not stripped, and refused elsewhere by name: a message about a key must not quote it.
Key = Annotated[str, Field(max_length=4_000, json_schema_extra={"writeOnly": True, "format": "password"})]
Price = Annotated[float, Field(ge=0, le=1_000_000, description="USD for a million tokens.")]
Seconds = Annotated[float, Field(gt=0, le=3_600, description="Longest silence of the model.")]
Header = Annotated[Text, StringConstraints(min_length=1, max_length=100)]


class ConnectionRequest(RequestBody):
    """A connection. `provider` is told from `base_url` and `auth_mode` from the provider where they are left out."""

    name: Name
    base_url: Url
    model: Name
    provider: Provider | None = None
    auth_mode: AuthMode | None = None
    auth_header: Annotated[Header | None, Field(description="For auth_mode custom.")] = None
    key: Annotated[Key | None, Field(description="Stored sealed, never shown; user:password for basic.")] = None
    supports_tools: Annotated[bool | None, Field(description="Left out: as the provider usually does.")] = None
    price_in: Price = 0
    price_out: Price = 0
    seconds: Seconds = 120
    enabled: bool = True
    default: Annotated[bool, Field(description="Ask this one where an agent names none.")] = False


class ConnectionPatch(RequestBody):
    """Changes to a connection. `key: null` takes the key away; a new address needs the key again."""

    name: Name | None = None
    base_url: Url | None = None
    model: Name | None = None
    provider: Provider | None = None
    auth_mode: AuthMode | None = None
    auth_header: Header | None = None
    key: Key | None = None
    supports_tools: bool | None = None
    price_in: Price | None = None
    price_out: Price | None = None
    seconds: Seconds | None = None
    enabled: bool | None = None
    default: bool | None = None


class KeyRequest(RequestBody):
    """The key that takes the old one's place."""

    key: Annotated[Key, Field(description="Stored sealed, never shown; user:password for basic.")]


class ConnectionShape(BaseModel):
    """A connection without its key. What has another origin than `row` is configured, and not changed here."""

    id: UUID
    name: str
    base_url: str
    endpoint: str | None
    provider: Provider
    model: str
    auth_mode: AuthMode
    auth_header: str | None
    has_key: bool
    supports_tools: bool
    price_in: float
    price_out: float
    seconds: float
    enabled: bool
    origin: Literal["row", "file", "settings"]
    default: bool

    @classmethod
    def of(cls, connection: ModelConnection, default: ConnectionId | None) -> "ConnectionShape":
        """From the value; `default` is the workspace's."""
        return copy_fields(cls, connection, default=connection.id == default)


class ConnectionList(BaseModel):
    """Every connection: the stored ones by name, then the configured ones."""

    items: list[ConnectionShape]


class ProviderShape(BaseModel):
    """Known provider: the first whose pattern matches `host:port/path` is taken.

    `forms` says in which requests it takes a `response_format`; elsewhere the model is told, and its answer checked.
    """

    provider: Provider
    label: str
    pattern: str
    supports_tools: bool
    forms: Forms
    auth_mode: AuthMode
    base_path: str


class ProviderList(BaseModel):
    """In the order in which their patterns are tried."""

    items: list[ProviderShape]


class TestResult(BaseModel):
    """Result of a connection test; `model_listed` is null where the endpoint has no list of models."""

    ok: bool
    endpoint: str | None
    models: list[str]
    model_listed: bool | None
    latency_ms: float
    reason: str | None
    detail: str


@router.get("/api/llm-connections", dependencies=[OPERATE])
async def connections(me: Me, parts: Its) -> ConnectionList:
    """The workspace's connections; keys are not shown."""
    known, default = await parts.connections.offered(me.scope)
    return ConnectionList(items=[ConnectionShape.of(one, default) for one in known])


@router.get("/api/llm-connections/providers", dependencies=[OPERATE])
async def providers() -> ProviderList:
    """The ten providers and how each is recognised."""
    rows = [
        copy_fields(ProviderShape, t, pattern=t.url, supports_tools=t.tools, auth_mode=t.auth, base_path=t.base)
        for t in TRAITS
    ]
    return ProviderList(items=rows)


@router.post("/api/llm-connections", status_code=201, dependencies=[OPERATE])
async def add_connection(body: ConnectionRequest, me: Me, parts: Its) -> ConnectionShape:
    """Add a connection. Its address is public, or named in AOS_MODELS_ALLOW; redirects are never followed.

    While the gateway listens on this machine alone, people of the first tenant may also use models on it. Each call
    connects to an address that was checked, whatever the name has come to mean.
    """
    await _check_address(me, parts, body.base_url)
    provider = body.provider or detect_provider(body.base_url)
    auth = body.auth_mode or usual_auth(provider, with_key=body.key is not None)
    known = {"id": ConnectionId(""), "provider": provider, "auth_mode": auth, "tools": body.supports_tools}
    wanted = copy_fields(ModelConnection, body, **known)
    async with parts.database.transaction(me.scope) as tx:
        made = await parts.connections.add(tx, me.scope, wanted, body.key)
        if body.default:
            await parts.connections.make_default(tx, me.scope, made.id)
        detail = {"name": made.name, "provider": made.provider, "base_url": made.base_url, "has_key": made.has_key}
        await parts.audit.record(tx, me.scope, "llm_connection.add", made.id, detail=detail)
    return ConnectionShape.of(made, await parts.connections.default(me.scope))


@router.patch("/api/llm-connections/{connection_id}", dependencies=[OPERATE])
async def change_connection(connection_id: UUID, body: ConnectionPatch, me: Me, parts: Its) -> ConnectionShape:
    """Change a connection; calls that have begun go on with the one they began with."""
    before = await parts.connections.get(me.scope, str(connection_id))
    changes = _connection_changes(before, body)
    if "base_url" in changes:
        await _check_address(me, parts, changes["base_url"])
    given = body.model_fields_set
    async with parts.database.transaction(me.scope) as tx:
        after = before
        if changes or "key" in given:
            key = body.key if "key" in given else KEEP
            after = await parts.connections.change(tx, me.scope, before.id, changes, key)
        if body.default is not None:
            await parts.connections.make_default(tx, me.scope, before.id, body.default)
        detail = {"name": after.name, "fields": sorted(given - {"tenant_id", "workspace_id"})}
        await parts.audit.record(tx, me.scope, "llm_connection.change", before.id, detail=detail)
    return ConnectionShape.of(after, await parts.connections.default(me.scope))


@router.put("/api/llm-connections/{connection_id}/key", dependencies=[OPERATE])
async def rotate_key(connection_id: UUID, body: KeyRequest, me: Me, parts: Its) -> ConnectionShape:
    """Rotate a connection's key: the next call is signed with the new one, the old one is gone; nothing else changes.

    It is sealed with the vault's current key, whichever the old one was sealed with.
    """
    async with parts.database.transaction(me.scope) as tx:
        after = await parts.connections.change(tx, me.scope, str(connection_id), {}, body.key)
        await parts.audit.record(tx, me.scope, "llm_connection.key", after.id, detail={"name": after.name})
    return ConnectionShape.of(after, await parts.connections.default(me.scope))


@router.delete("/api/llm-connections/{connection_id}", status_code=204, dependencies=[OPERATE])
async def delete_connection(connection_id: UUID, me: Me, parts: Its) -> Response:
    """Forget a connection and its key; agents that name it go on with their next one."""
    async with parts.audited(me, "llm_connection.delete", str(connection_id)) as tx:
        await parts.connections.remove(tx, me.scope, str(connection_id))
    return Response(status_code=204)


@router.post("/api/llm-connections/{connection_id}/test", dependencies=[OPERATE])
async def test_connection(connection_id: UUID, me: Me, parts: Its) -> TestResult:
    """Ask the endpoint for its models: which address answers, how fast, and why not. No text is written."""
    connection = await parts.connections.get(me.scope, str(connection_id))
    found = await parts.switchboard.test(me.scope, connection)
    detail = {"name": connection.name, "ok": found.ok, "reason": found.reason}
    async with parts.database.transaction(me.scope) as tx:
        await parts.audit.record(tx, me.scope, "llm_connection.test", connection.id, detail=detail)
    return copy_fields(TestResult, found, latency_ms=found.ms)


async def _check_address(me: WorkspaceMember, parts: AppDependencies, base_url: str) -> None:
    """Refuse an address that a model may not live at; it is on record who tried."""
    try:
        await parts.switchboard.check(base_url, first_tenant=me.first_tenant)
    except AddressRefused as error:
        await parts.audit.denied(me.scope, "llm_connection.address", base_url[:300], {"why": error.detail})
        raise


def _connection_changes(before: ModelConnection, body: ConnectionPatch) -> dict[str, Any]:
    """The values that become different. Null means "as usual" for the provider, the mode and the tools."""
    given = body.model_fields_set
    plain = ("name", "base_url", "model", "price_in", "price_out", "seconds", "enabled", "auth_header")
    changes = {
        name: value
        for name in plain
        if name in given and ((value := getattr(body, name)) is not None or name == "auth_header")
    }
    moved = "base_url" in changes and before.provider is detect_provider(before.base_url)
    if "provider" in given or moved:
        changes["provider"] = body.provider or detect_provider(changes.get("base_url", before.base_url))
    if "auth_mode" in given:
        with_key = body.key is not None if "key" in given else before.has_key
        changes["auth_mode"] = body.auth_mode or usual_auth(changes.get("provider", before.provider), with_key=with_key)
    if "supports_tools" in given:
        changes["tools"] = body.supports_tools
    return changes
