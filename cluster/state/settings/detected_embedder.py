"""The embedder that was detected at the first start, kept as settings: every later start takes the same."""

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

_LOCK = "select pg_advisory_xact_lock(hashtext('aos.settings'))"
_INDEXED = "select exists (select from workspaces where generation_id is not null)"
_STORED = "select substr(key, 11) as name, value from system_settings where starts_with(key, 'embedding.')"
_KEEP = "insert into system_settings (key, value) values (%s, %s) on conflict (key) do nothing"


async def is_indexed(conninfo: str) -> bool:
    """True where any workspace has an index, of any tenant; `conninfo` is the owner's of the schema."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        row = await (await connection.execute(_INDEXED)).fetchone()
    return bool(row and row[0])


async def stored_embedding(conninfo: str) -> dict[str, Any]:
    """What is stored of the section `embedding`, by the names of its settings."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        return dict(await (await connection.execute(_STORED)).fetchall())


async def keep_detected(conninfo: str, source: str, base_url: str, model: str) -> None:
    """Store the choice; what somebody has set meanwhile stays."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        await connection.execute(_LOCK)
        for key, value in (("detected", source), ("base_url", base_url), ("model", model)):
            await connection.execute(_KEEP, (f"embedding.{key}", Jsonb(value)))
