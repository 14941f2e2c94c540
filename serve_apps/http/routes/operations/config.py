"""The configuration as operators see and change it: grouped, secrets masked, each value with its source and reach."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from redis.asyncio import Redis

from cluster.basics.errors import Conflict, Invalid
from cluster.state.db.embedded import redis_endpoint
from cluster.state.settings.settings_rows import SettingsRows, StoredSettings
from configs.keys import Kind, Part, SettingKey, setting_groups, setting_keys, value_of
from configs.sections import Settings
from configs.settings import InvalidConfiguration, LayeredSettings, Source
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import SYSTEM, SYSTEM_STATE
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import AnyJson, RequestBody
from serve_apps.http.response_shapes import copy_fields

router = APIRouter(route_class=GuardedRoute, tags=["admin"])

MASK = "••••••••"
MOST_CHANGES = 200
# What the documents name beside the settings; vectors are in Postgres here.
VECTOR_DB = ("vector_db.url", "vector_db.collection")


class SettingFixed(Conflict):
    """A row may not set this."""

    code = "setting_fixed"


class KeyShape(BaseModel):
    """A setting. Send a value back only where it is to be another; a secret that is sent back masked stays.

    `live` names the parts that take a change up within seconds by themselves, `restart` those that have to be
    restarted for it. `why` says why it cannot be edited here, where it cannot.
    """

    key: str
    name: Annotated[str, Field(description="In the environment.")]
    type: Kind
    value: Any
    default: Any
    source: Source
    editable: bool
    why: str
    secret: bool
    nullable: bool
    minimum: float | None
    maximum: float | None
    above: Annotated[float | None, Field(description="Greater than this, not equal.")]
    choices: list[Any]
    pattern: str | None
    live: list[Part]
    restart: list[Part]
    changed_at: datetime | None


class GroupShape(BaseModel):
    """Settings that stand together."""

    id: str
    title: str
    colour: Literal["blue", "green", "amber", "purple", "grey"]
    about: str
    keys: list[KeyShape]


class NeedShape(BaseModel):
    """Pending restart of a part with the settings that need it; `whole` means `aos down` and `aos up`."""

    part: Part
    keys: list[str]
    since: datetime


class Config(BaseModel):
    """Everything. `left_out` are rows that do not count, with why; `changed` what the request changed."""

    version: int
    groups: list[GroupShape]
    needs_restart: list[NeedShape]
    left_out: dict[str, str]
    changed: list[str] = []


class ConfigRequest(RequestBody):
    """Changes to settings, by dotted key or by the name in the environment; null takes the row away."""

    version: Annotated[int, Field(ge=0, description="The one that was read; another one by now is refused.")]
    values: Annotated[dict[str, AnyJson], Field(max_length=MOST_CHANGES)]


@router.get("/api/admin/config", dependencies=[SYSTEM_STATE])
async def config(me: Me, parts: Its) -> Config:
    """Every setting in its group, four of them coloured as the page shows them; secrets are masked."""
    return await _config_shape(me, parts)


@router.put("/api/admin/config", dependencies=[SYSTEM])
async def change_config(body: ConfigRequest, me: Me, parts: Its) -> Config:
    """Change settings: the whole of them is checked before anything is written, and only what differs is."""
    rows = parts.operating.upkeep.rows
    kept = await rows.kept()
    before, left_out = rows.layers(kept)
    changes = _changed_settings(before, kept, body.values)
    if changes:
        standing = {name: value for name, value in kept.values.items() if name not in left_out}
        after = _validate_settings(rows, {**standing, **changes})
        await parts.operating.blocking(lambda: _check_startable(after, parts))
        known = setting_keys()
        as_given = {name for name, value in changes.items() if value is None or known[name].secret}
        stored = {name: changes[name] if name in as_given else value_of(after, name) for name in changes}
        detail = {
            "keys": sorted(name for name, value in stored.items() if value is not None),
            "removed": sorted(name for name, value in stored.items() if value is None),
        }
        async with parts.audited(me, "settings.change", "system_settings", detail) as tx:
            await rows.write(tx, body.version, stored)
            await rows.need(tx, _restarts_needed(stored))
        await parts.operating.upkeep.watch.look()
    shown = await _config_shape(me, parts)
    return shown.model_copy(update={"changed": sorted(changes)})


def _changed_settings(before: LayeredSettings, kept: StoredSettings, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that differ from the effective settings, by dotted name.

    Raises:
        Invalid: a name is unknown.
        SettingFixed: a row may not set it, or would not count.
    """
    known = setting_keys()
    dotted = {key.environment: name for name, key in known.items()}
    given_up = {name for name, value in values.items() if value is None and name in kept.left_out}
    unknown = sorted(set(values) - set(known) - set(dotted) - given_up)
    if unknown:
        raise Invalid(f"there is no such setting: {', '.join(unknown)}", fix="GET /api/admin/config lists them.")
    found: dict[str, Any] = dict.fromkeys(given_up)
    for given, value in values.items():
        if given in given_up:
            continue
        name = given if given in known else dotted[given]
        key = known[name]
        if key.secret and value == MASK:
            continue
        if value is None:
            if name in kept.values:
                found[name] = None
        elif value != value_of(before.settings, name):
            if why := _why_not(key, before.source(name)):
                raise SettingFixed(f"{name}: {why}")
            found[name] = value
    return found


def _why_not(key: SettingKey, source: Source) -> str:
    if key.fixed is not None:
        return key.fixed
    if source is Source.ENVIRONMENT:
        return f"{key.environment} is set in the environment, which beats a row: take it away there"
    return ""


def _validate_settings(rows: SettingsRows, values: Mapping[str, Any]) -> Settings:
    """The whole as it would be. Raises Invalid: it would not be valid; a line for each key."""
    try:
        return rows.would_be(values)
    except InvalidConfiguration as error:
        raise Invalid(str(error), fix="Correct these values; nothing was changed.") from error


def _check_startable(settings: Settings, parts: AppDependencies) -> None:
    """Refuse now what programs would refuse at their start.

    Raises:
        InvalidSettings: the plan of the applications does not hold.
        Invalid: the URL of Redis is none.
    """
    parts.operating.cluster.check(settings)
    if settings.redis.url is not None or settings.redis.host is not None:
        try:
            Redis.from_url(redis_endpoint(settings))
        except ValueError as error:
            raise Invalid(f"redis: {error}", fix="redis://, rediss:// or unix://") from None


def _restarts_needed(changes: Iterable[str]) -> dict[Part, list[str]]:
    """The parts that have to be restarted, each with what for."""
    known, found = setting_keys(), dict[Part, list[str]]()
    for name in changes:
        for part in known[name].restart if name in known else ():
            found.setdefault(part, []).append(name)
    return found


async def _config_shape(me: Me, parts: AppDependencies) -> Config:
    rows = parts.operating.upkeep.rows
    kept = await rows.kept()
    found, left_out = rows.layers(kept)
    async with parts.database.transaction(me.scope) as tx:
        needs = await rows.needs(tx)
    store = await parts.operating.system.store(me.scope)
    generation = None if store is None or store["generation"] is None else f"embeddings_{store['generation']}"
    known = setting_keys()
    shown = [
        copy_fields(GroupShape, group, keys=[_key_shape(known[name], found, kept) for name in group.keys])
        for group in setting_groups()
    ]
    for group in shown:
        if group.id == "database":
            group.keys += _vector_db(generation)
    restarts = [copy_fields(NeedShape, one) for one in needs]
    return Config(version=kept.version, groups=shown, needs_restart=restarts, left_out=dict(left_out))


def _key_shape(key: SettingKey, found: LayeredSettings, kept: StoredSettings) -> KeyShape:
    value, source = value_of(found.settings, key.name), found.source(key.name)
    why = _why_not(key, source)
    if key.secret:
        value = None if value is None else MASK
    shown = {"value": value, "source": source, "changed_at": kept.changed.get(key.name)}
    names = {"key": key.name, "name": key.environment, "type": key.kind}
    return copy_fields(KeyShape, key, **names, **shown, editable=not why, why=why)


def _vector_db(generation: str | None) -> list[KeyShape]:
    """Read-only rows on the vector store: no settings of ours, but what an operator looks for among them."""
    values = ("pgvector, in the Postgres above", generation)
    whys = ("vectors are stored in Postgres", "the live index of this workspace; a re-index makes another")
    rest: dict[str, Any] = {"type": "text", "source": Source.DEFAULT, "editable": False, "secret": False}
    rest |= dict.fromkeys(("default", "minimum", "maximum", "above", "pattern", "changed_at"))
    rest |= {"nullable": True, "choices": [], "live": [], "restart": []}
    return [
        KeyShape(key=key, name=key.upper().replace(".", "_"), value=value, why=why, **rest)
        for key, value, why in zip(VECTOR_DB, values, whys, strict=True)
    ]
