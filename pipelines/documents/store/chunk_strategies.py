"""The chunking strategy of a workspace, and of a document that has its own."""

from dataclasses import dataclass
from pathlib import Path

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction, load_queries
from configs.sections import ChunkSettings, ChunkStrategy
from pipelines.documents.document import VersionId

SQL = load_queries(Path(__file__).with_suffix(".sql"))


@dataclass(frozen=True, slots=True)
class ChosenStrategies:
    """What was chosen; None where nothing was."""

    workspace: ChunkStrategy | None = None
    document: ChunkStrategy | None = None


class ChunkStrategies:
    """Read and change them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_workspace(self, scope: Scope) -> ChunkStrategy | None:
        """The strategy of the scope's workspace; None where it takes the settings'."""
        rows = await self._database.read(scope, SQL["of_workspace"], **scope.keys)
        return rows[0]["chunk_strategy"] if rows else None

    async def of_version(self, scope: Scope, version: VersionId) -> ChosenStrategies:
        """The strategies of the workspace and of the document of a version."""
        rows = await self._database.read(scope, SQL["of_version"], **scope.keys, version=version)
        return ChosenStrategies(rows[0]["workspace"], rows[0]["own"]) if rows else ChosenStrategies()

    async def change_workspace(self, tx: Transaction, scope: Scope, strategy: ChunkStrategy | None) -> None:
        """Cut the workspace's documents so from now on; what is indexed has to be indexed again."""
        await tx.run(SQL["change_workspace"], **scope.keys, strategy=strategy)

    async def change_document(
        self, tx: Transaction, scope: Scope, document: str, strategy: ChunkStrategy | None
    ) -> None:
        """Cut one document so from its next indexing on, whatever the workspace's strategy is."""
        await tx.run(SQL["change_document"], **scope.keys, document=document, strategy=strategy)


def with_strategy(settings: ChunkSettings, strategy: ChunkStrategy | None) -> ChunkSettings:
    """The settings with the strategy that was chosen. Raises ValidationError: nobody knows it."""
    return (
        settings if strategy is None else ChunkSettings.model_validate(settings.model_dump() | {"strategy": strategy})
    )
