"""Puts the graph's stage together from settings."""

import asyncio
from datetime import UTC, datetime

from cluster.models.connections.configured import declared
from cluster.models.connections.connection_store import Connections
from cluster.models.connections.egress import egress_of, model_clients
from cluster.models.connections.model_resolver import Switchboard
from cluster.models.routing.router import Router
from cluster.models.routing.spend import Spend
from cluster.state.db.postgres import Database
from cluster.state.vault import vault_of
from cluster.state.work.jobs import Jobs
from configs.sections import Settings
from configs.sections_retrieval import GraphSettings
from pipelines.documents.graph.extract import Extractor
from pipelines.documents.graph.graph_rows import GraphStore
from pipelines.documents.graph.graph_stage import GraphStage
from pipelines.documents.graph.lexicon import Lexicon
from pipelines.documents.graph.places import gazetteer
from pipelines.documents.graph.routed_model import RoutedReader


def graph_stage(settings: Settings, database: Database, jobs: Jobs) -> GraphStage:
    """The stage, with a model beside the rules unless that is switched off.

    Raises:
        InvalidSettings: the vault's key or the connections file is wrong.
    """
    reader = None if settings.graph.model == "off" else _reader(settings, database)
    return GraphStage(jobs, GraphStore(database), lambda: extractor(settings.graph), settings.graph, reader)


def extractor(settings: GraphSettings) -> Extractor:
    """The rules with the names and places that ship."""
    return Extractor(Lexicon.shipped(), gazetteer(), settings)


def _reader(settings: Settings, database: Database) -> RoutedReader:
    vault = vault_of(settings.models.vault_key, settings.state_dir)
    connections = Connections(database, vault, declared(settings.models.connections_file, settings.llm))
    clients = model_clients(egress_of(settings.models.allow, settings.http.host))
    switchboard = Switchboard(connections, clients, settings.models, asyncio.sleep)
    router = Router(switchboard, Spend(database, lambda: datetime.now(UTC)), most=settings.models.max_fallbacks)
    return RoutedReader(router, settings.graph.model_seconds)
