"""Settings as rows of `system_settings`: read by every program at its start, written by operators, secrets sealed."""

import base64
import binascii
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, Unavailable
from cluster.state.db.embedded import is_external, postgres_endpoints, timeline_fence
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction, load_queries
from cluster.state.db.primary import connect_primary_blocking
from cluster.state.settings.detected_embedder import DETECTED, DETECTED_ROWS, lapsed_detection
from cluster.state.vault import UnopenableSecret, Vault, vault_of
from configs.keys import Part, setting_keys
from configs.sections import Settings
from configs.settings import InvalidConfiguration, LayeredSettings, read_layers

log = logging.getLogger("aos.settings")

CONNECT_SECONDS = 10
_SEALED = "sealed"  # the key of a secret's value


class SettingsChanged(Conflict):
    """Somebody changed the settings meanwhile."""

    code = "settings_changed"
    fix = "Read them again, and send the changes with the new version."


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The rows as they are.

    Attributes:
        version: of all of them together.
        values: dotted name to value; secrets are open, and not shown.
        changed: when each was written.
        left_out: rows that do not count, dotted name to the reason.
    """

    version: int
    values: Mapping[str, Any] = field(repr=False)
    changed: Mapping[str, datetime]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RestartNeed:
    """A part that has to be restarted, and the changed settings that ask for it."""

    part: str
    keys: tuple[str, ...]
    since: datetime


class SettingsRows(SqlStore, queries="settings_rows.sql"):
    """Reads and writes them. The walls are Postgres': only the first tenant's transactions may write."""

    def __init__(self, database: Database, vault: Vault, environment: Mapping[str, str] | None = None) -> None:
        """`vault` seals what is secret; `environment` is the process' own unless given."""
        super().__init__(database)
        self._vault, self._environment = vault, environment

    async def version(self) -> int:
        """The number that grows with every change."""
        async with self._db.transaction() as tx:
            return await self._read_version(tx)

    async def kept(self) -> StoredSettings:
        """All of them, as every program sees them."""
        async with self._db.transaction() as tx:
            version, rows = await self._read_version(tx), await tx.all(self._sql["all"])
        return open_rows(rows, version, self._vault)

    def layers(self, kept: StoredSettings) -> tuple[LayeredSettings, Mapping[str, str]]:
        """See `layer_settings`."""
        return layer_settings(kept, self._environment)

    def would_be(self, values: Mapping[str, Any]) -> Settings:
        """The whole with these rows in place of those there are; those that are None are left out.

        Raises InvalidConfiguration where it would not be valid; a line for each key.
        """
        wanted = {name: value for name, value in values.items() if value is not None}
        return read_layers(self._environment, wanted).settings

    async def write(self, tx: Transaction, version: int, changes: Mapping[str, Any]) -> None:
        """Set what is given, dotted name to a value that was checked, and forget where None is.

        The transaction is of an administrator of the first tenant. Raises SettingsChanged where `version`, which the
        changes were made from, is no longer the newest.
        """
        await tx.run(self._sql["lock"])
        found = await self._read_version(tx)
        if found != version:
            raise SettingsChanged(f"they are at version {found}, the changes were made from {version}")
        known = setting_keys()
        for name, value in changes.items():
            if value is None:
                await tx.run(self._sql["drop"], key=name)
                continue
            if known[name].secret:
                value = sealed_value(self._vault.seal(str(value), setting_place(name)))
            await tx.run(self._sql["put"], key=name, value=Jsonb(value))

    async def need(self, tx: Transaction, parts: Mapping[Part, list[str]]) -> None:
        """Remember what has to be restarted for which settings, until it was."""
        for part, names in parts.items():
            await tx.run(self._sql["need"], part=part, keys=sorted(names))

    async def needs(self, tx: Transaction) -> list[RestartNeed]:
        """The restarts that changed settings wait for."""
        return [RestartNeed(row["part"], tuple(row["keys"]), row["since"]) for row in await tx.all(self._sql["needs"])]

    async def _read_version(self, tx: Transaction) -> int:
        row = await tx.one(self._sql["version"])
        return 0 if row is None else int(row["version"])


def open_rows(rows: list[Row], version: int, vault: Vault) -> StoredSettings:
    """Rows as settings: those that no setting has the name of, that none may set, or that do not open, are left out."""
    known = setting_keys()
    values: dict[str, Any] = {}
    changed: dict[str, datetime] = {}
    left_out: dict[str, str] = {}
    for row in rows:
        name, value = row["key"], row["value"]
        key = known.get(name)
        if key is None:
            left_out[name] = "there is no such setting"
        elif key.fixed is not None:
            left_out[name] = key.fixed
        elif key.secret:
            try:
                values[name] = vault.open(envelope_of(value), setting_place(name))
            except UnopenableSecret as error:
                left_out[name] = str(error)
        else:
            values[name] = value
        changed[name] = row["updated_at"]
    return StoredSettings(version, values, changed, left_out)


def layer_settings(
    kept: StoredSettings, environment: Mapping[str, str] | None = None
) -> tuple[LayeredSettings, Mapping[str, str]]:
    """Files, rows and environment as one snapshot, and the rows that were left out, with why.

    A row that somebody wrote past the API must not keep everything from starting: it is left out, and named. So is an
    embedder that was detected, where something else is named by now (`lapsed_detection`).

    Raises InvalidConfiguration where the files or the environment are not valid by themselves.
    """
    values, left_out = dict(kept.values), dict(kept.left_out)
    found = _read_valid_rows(environment, values, left_out)
    if values.get(DETECTED) is None:
        return found, left_out
    others = {name: value for name, value in values.items() if name not in DETECTED_ROWS}
    lapsed = lapsed_detection(values, kept.changed, read_layers(environment, others))
    for name, why in lapsed.items():
        del values[name]
        left_out[name] = why
    return (read_layers(environment, values) if lapsed else found), left_out


def _read_valid_rows(
    environment: Mapping[str, str] | None, values: dict[str, Any], left_out: dict[str, str]
) -> LayeredSettings:
    """All layers; rows that are not valid go from `values` to `left_out`."""
    while True:
        try:
            return read_layers(environment, values)
        except InvalidConfiguration as error:
            wrong = [name for name in error.keys if name in values]
            if not wrong:
                raise
            for name in wrong:
                del values[name]
                left_out[name] = "its value is not valid"


def read_stored_rows(settings: Settings) -> StoredSettings:
    """The rows, read by a connection of its own: for a program that starts.

    Where the embedded Postgres was never started, and where the schema has no such table yet, there are none.

    Raises Unavailable where Postgres does not answer. To start with other settings than everybody else would be worse.
    """
    none = StoredSettings(0, {}, {}, {})
    if not is_external(settings.postgres) and not (settings.state_dir / "postgres").exists():
        return none
    dsn, sql = postgres_endpoints(settings)[0], load_queries(Path(__file__).with_suffix(".sql"))
    try:
        with connect_primary_blocking(
            dsn, timeline_fence(settings), connect_timeout=CONNECT_SECONDS, row_factory=dict_row
        ) as connection:
            version = connection.execute(sql["version"]).fetchone()
            rows = connection.execute(sql["all"]).fetchall()
    except psycopg.errors.UndefinedTable:
        return none
    except psycopg.OperationalError as error:
        raise Unavailable(f"Postgres does not answer: {error}", fix="Start it with `aos up`.") from error
    vault = vault_of(settings.models.vault_key, settings.state_dir)
    return open_rows(rows, int(version["version"]) if version else 0, vault)


def load_with_rows(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings a program starts with: files, rows, then the environment; raises as `load_settings_and_rows`."""
    return load_settings_and_rows(environment)[0]


def load_where_possible(environment: Mapping[str, str] | None = None) -> Settings:
    """As `load_with_rows`; without rows where Postgres does not tell them: for who looks what is wrong."""
    try:
        return load_with_rows(environment)
    except Unavailable:
        return read_layers(environment).settings


def load_settings_and_rows(environment: Mapping[str, str] | None = None) -> tuple[Settings, Mapping[str, Any]]:
    """The settings a program starts with, and the rows in it that are no secrets, for what it starts in its turn.

    Raises InvalidConfiguration and Unavailable as `layer_settings` and `read_stored_rows`.
    """
    kept = read_stored_rows(read_layers(environment).settings)
    found, left_out = layer_settings(kept, environment)
    for name, why in left_out.items():
        log.error("the row %s of system_settings is left out: %s", name, why)
    known = setting_keys()
    rows = {name: value for name, value in kept.values.items() if name not in left_out and not known[name].secret}
    return found.settings, rows


def sealed_value(envelope: bytes) -> dict[str, str]:
    """A secret as its row has it."""
    return {_SEALED: base64.b64encode(envelope).decode()}


def envelope_of(value: Any) -> bytes:
    """The envelope in a row's value; empty, which no key opens, where that is none."""
    try:
        return base64.b64decode(value[_SEALED], validate=True)
    except (TypeError, LookupError, binascii.Error):
        return b""


def setting_place(name: str) -> str:
    """The place that a setting's envelope is bound to."""
    return f"system_settings/{name}"
