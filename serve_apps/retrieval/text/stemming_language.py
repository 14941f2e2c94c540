"""The language whose endings are cut from words before they are compared, workspace by workspace."""

from pathlib import Path

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction, load_queries

SQL = load_queries(Path(__file__).with_suffix(".sql"))


class StemmingLanguages:
    """Read and change it."""

    def __init__(self, database: Database) -> None:
        """`database` is the application's."""
        self._database = database

    async def known(self, scope: Scope) -> list[str]:
        """Names of Postgres' text search configurations, in order."""
        return [row["name"] for row in await self._database.read(scope, SQL["known"])]

    async def current(self, scope: Scope) -> str:
        """That of the scope's workspace."""
        rows = await self._database.read(scope, SQL["current"], **scope.keys)
        return rows[0]["language"] if rows else "english"

    async def change(self, tx: Transaction, scope: Scope, language: str) -> int:
        """Cut the words of every chunk of the workspace anew, and tell how many chunks there are.

        Takes about a second for some thousand chunks; questions are answered by the old words until `tx` ends. It acts
        for every reader (`Scope.of_worker`), so that no chunk is left behind. Raises Invalid unless the language is
        `known`.
        """
        if language not in (known := await self.known(scope)):
            raise Invalid(f"no such language: {language}", fix=f"Choose one of: {', '.join(known)}.")
        row = await tx.one(SQL["change"], language=language)
        return row["chunks"] if row else 0
