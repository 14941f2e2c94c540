"""The embedder that was detected at the first start, kept as settings: every later start takes the same."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Jsonb

from cluster.state.db.primary import connect_primary
from configs.settings import LayeredSettings, Source

DETECTED: Final = "embedding.detected"
DETECTED_ROWS: Final = (DETECTED, "embedding.base_url", "embedding.model")
_LOCK = "select pg_advisory_xact_lock(hashtext('aos.settings'))"
_INDEXED = "select exists (select from workspaces where generation_id is not null)"
_STORED = "select substr(key, 11) as name, value from system_settings where starts_with(key, 'embedding.')"
_KEEP = "insert into system_settings (key, value) values (%s, %s) on conflict (key) do nothing"


async def is_indexed(conninfo: str) -> bool:
    """True where any workspace has an index, of any tenant; `conninfo` is the owner's of the schema."""
    async with await connect_primary(conninfo, None) as connection:
        row = await (await connection.execute(_INDEXED)).fetchone()
    return bool(row and row[0])


async def stored_embedding(conninfo: str) -> dict[str, Any]:
    """What is stored of the section `embedding`, by the names of its settings."""
    async with await connect_primary(conninfo, None) as connection:
        return dict(await (await connection.execute(_STORED)).fetchall())


async def keep_detected(conninfo: str, source: str, base_url: str, model: str) -> None:
    """Store the choice; what somebody has set meanwhile stays."""
    async with await connect_primary(conninfo, None) as connection:
        await connection.execute(_LOCK)
        for key, value in (("detected", source), ("base_url", base_url), ("model", model)):
            await connection.execute(_KEEP, (f"embedding.{key}", Jsonb(value)))


def lapsed_detection(
    values: Mapping[str, Any], changed: Mapping[str, datetime], without: LayeredSettings
) -> dict[str, str]:
    """Rows of a detection that do not count any longer, dotted name to the reason; none where it still does.

    `values` and `changed` of all rows; `without` are the settings without `DETECTED_ROWS`: who turned detection off
    there, or named another server or another model, must not be given the half of what was detected. A row that
    somebody has set since is no longer the detection's: those are the ones that were written with `DETECTED` itself.
    """
    url, model, named = values.get(DETECTED_ROWS[1]), values.get(DETECTED_ROWS[2]), without.settings.embedding
    if values.get(DETECTED) is None:
        return {}
    if not named.detect:
        why = "it was detected, and detection is off by now"
    elif named.base_url is not None and named.base_url != url:
        why = "it was detected, and another server is named by now"
    elif without.source("embedding.model") is not Source.DEFAULT and not _is_same_model(named.model, model):
        why = "it was detected, and another model is named by now"
    else:
        return {}
    at = changed.get(DETECTED)
    return {name: why for name in DETECTED_ROWS if name in values and changed.get(name) == at}


def _is_same_model(named: str, detected: Any) -> bool:
    """Ollama calls a model that is named without a tag its latest."""
    return detected in (named, f"{named}:latest")
