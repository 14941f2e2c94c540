"""Connections that no row describes: those of the connections file, and the one that LLM_BASE_URL means."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID, uuid5

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cluster.basics.errors import Invalid, InvalidSettings
from cluster.models.connections.endpoint_connection import (
    AuthMode,
    ConnectionId,
    ModelConnection,
    Provider,
    check_auth,
    detect_provider,
    usual_auth,
)
from configs.sections import LlmSettings

SETTINGS_NAME = "default"  # what the connection of LLM_BASE_URL is called
_NAMESPACE = UUID("3f0f3d0e-54a1-5b0c-8d0b-5f1c6a1f7a11")


@dataclass(frozen=True, slots=True)
class ConfiguredConnections:
    """Connections every workspace has."""

    connections: tuple[ModelConnection, ...] = ()  # those of the file in its order, then the settings' own
    keys: Mapping[ConnectionId, str] = field(default_factory=dict, repr=False)  # their secrets by id
    # The id of the one that the file calls the default, else of the settings' own, else None.
    default: ConnectionId | None = None


class _Entry(BaseModel):
    """One connection of the file. `key_file` names a file that holds the key and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=200)
    base_url: str
    model: str = Field(min_length=1)
    provider: Provider | None = None
    auth_mode: AuthMode | None = None
    auth_header: str | None = None
    key: str | None = Field(None, repr=False)
    key_file: Path | None = None
    supports_tools: bool | None = None
    price_in: float = Field(0, ge=0)
    price_out: float = Field(0, ge=0)
    seconds: float = Field(120, gt=0)
    enabled: bool = True


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    connections: tuple[_Entry, ...] = ()
    default: str | None = None


def derived_id(name: str) -> ConnectionId:
    """The id of a connection that is known by its name: the same on every node and after every restart."""
    return ConnectionId(str(uuid5(_NAMESPACE, name)))


def load_connections(path: Path | None, llm: LlmSettings) -> ConfiguredConnections:
    """Read the file, if there is one, and add what the settings describe.

    Raises InvalidSettings: the file is missing or wrong; the detail names each entry and key.
    """
    file = _File() if path is None else _read_file(path)
    connections: dict[str, ModelConnection] = {}
    keys: dict[ConnectionId, str] = {}
    for entry in file.connections:
        if entry.name in connections:
            raise InvalidSettings(f"{path}: two connections are called {entry.name!r}")
        key = entry.key if entry.key_file is None else _read_key(entry.key_file)
        connections[entry.name] = made = _entry_connection(entry, key, path)
        if key is not None:
            keys[made.id] = key
    if file.default is not None and file.default not in connections:
        raise InvalidSettings(f"{path}: default names {file.default!r}, which is no connection of the file")
    default = connections[file.default].id if file.default is not None else None
    own = of_settings(llm)
    if own is not None and SETTINGS_NAME not in connections:
        connections[own.name] = own
        default = default or own.id
        if llm.api_key:
            keys[own.id] = llm.api_key
    return ConfiguredConnections(tuple(connections.values()), keys, default)


def of_settings(llm: LlmSettings) -> ModelConnection | None:
    """The connection of LLM_BASE_URL, with its model and key; None without. Raises InvalidSettings: it is no URL."""
    if not llm.base_url:
        return None
    try:
        provider = detect_provider(llm.base_url)
    except Invalid as error:
        raise InvalidSettings(f"LLM_BASE_URL: {error.detail}") from None
    has_key = bool(llm.api_key)
    how = llm.base_url, llm.model or "default", provider, usual_auth(provider, with_key=has_key)
    named = ModelConnection(derived_id(SETTINGS_NAME), SETTINGS_NAME, *how, origin="settings")
    return replace(named, tools=llm.supports_tools, seconds=llm.seconds, has_key=has_key)


def _entry_connection(entry: _Entry, key: str | None, path: Path | None) -> ModelConnection:
    try:
        provider = entry.provider or detect_provider(entry.base_url)
        mode = entry.auth_mode or usual_auth(provider, with_key=key is not None)
        check_auth(mode, entry.auth_header, key)
    except Invalid as error:
        raise InvalidSettings(f"{path}: {entry.name}: {error.detail}") from None
    same = entry.model_dump(exclude={"provider", "auth_mode", "key", "key_file", "supports_tools"})
    made = ModelConnection(derived_id(entry.name), provider=provider, auth_mode=mode, origin="file", **same)
    return replace(made, tools=entry.supports_tools, has_key=key is not None)


def _read_file(path: Path) -> _File:
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
        return _File.model_validate(loaded or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidSettings(f"{path}: {error}", fix="Correct models.connections_file.") from None
    except ValidationError as error:
        # Without the input: it may be a key.
        problems = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
        raise InvalidSettings(f"{path}: {'; '.join(problems)}") from None


def _read_key(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"key_file {path}: {error}") from None
