"""The result of reading a folder into a workspace: counts, and a hash that is equal wherever the same came out."""

from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import class_row

from cluster.basics.errors import Unavailable
from cluster.state.db.postgres import load_queries

SQL = load_queries(Path(__file__).with_name("workspace_result.sql"))
SECONDS = 10


@dataclass(frozen=True, slots=True)
class WorkspaceResult:
    """Counts of current versions; `pages_twice` and `chunks_twice` are rows for what has a row already.

    `hash` (SHA-256) is over documents, pages and chunks with their texts, without the ids of the workspace.
    """

    documents: int
    pages: int
    pages_twice: int
    chunks: int
    chunks_twice: int
    vectors: int
    hash: str


def read_result(conninfo: str, workspace: str) -> WorkspaceResult:
    """As the owner of the schema, from the rows themselves. Raises Unavailable: Postgres is away."""
    try:
        with (
            psycopg.connect(conninfo, connect_timeout=SECONDS) as connection,
            connection.cursor(row_factory=class_row(WorkspaceResult)) as cursor,
        ):
            found = cursor.execute(SQL["workspace_result"], {"workspace": workspace}).fetchone()
    except psycopg.Error as error:
        raise Unavailable(f"Postgres: {error}") from error
    if found is None:
        raise Unavailable("Postgres gave no row")
    return found
