"""Puts the look of a multimodal model at pages together from settings."""

import asyncio
from datetime import UTC, datetime

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope
from cluster.models.connections.configured import load_connections
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.egress import clients_of
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.connections.model_resolver import ModelResolver
from cluster.models.ports import ChatModel
from cluster.state.db.postgres import Database
from cluster.state.vault import vault_of
from configs.sections import Settings
from pipelines.documents.ingest.vision_step import FORCED, PageDrawer, VisionStep
from pipelines.documents.ocr.vision.vision_reader import VisionReader
from pipelines.documents.store.choose_store import open_blobs
from pipelines.documents.store.vision_budget import StoredVisionBudget


class NamedModel:
    """Opens the model of the connection that is named, among those of a workspace."""

    def __init__(self, resolver: ModelResolver, name: str) -> None:
        """`name` is the connection's name or id."""
        self._resolver, self._name = resolver, name

    async def open_model(self, scope: Scope) -> ChatModel:
        """The model. Raises Invalid: no connection is called so, or it is disabled; Unusable: its key is lost."""
        offered, _ = await self._resolver.offered(scope)
        found = next((one for one in offered if self._is_meant(one)), None)
        if found is None:
            raise Invalid(f"no connection is called {self._name}, or it is disabled", fix="Set vision.connection.")
        return await self._resolver.open(scope, found)

    def _is_meant(self, connection: ModelConnection) -> bool:
        return connection.enabled and self._name in (connection.id, connection.name)


def vision_step(settings: Settings, database: Database, drawer: PageDrawer) -> VisionStep:
    """The step, without a model where none is named. Raises InvalidSettings: as `load_connections`."""
    vision, looker = settings.vision, None
    if vision.connection is not None:
        vault = vault_of(settings.models.vault_key, settings.state_dir)
        known = load_connections(settings.models.connections_file, settings.llm)
        clients = clients_of(settings.models, settings.http.host)
        # What is asked again by the patient client is asked within the seconds of one page.
        resolver = ModelResolver(ConnectionStore(database, vault, known), clients, settings.models, asyncio.sleep)
        budget = StoredVisionBudget(database, vision, lambda: datetime.now(UTC))
        looker = VisionReader(vision, NamedModel(resolver, vision.connection).open_model, budget)
    forced = settings.ocr.strategy == FORCED
    files = open_blobs(settings)
    return VisionStep(looker, drawer, below=vision.below, max_pixels=vision.max_pixels, forced=forced, files=files)
