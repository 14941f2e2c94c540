"""Puts the graph's stage together from settings."""

import asyncio
from datetime import UTC, datetime

from cluster.models.connections.configured import load_connections
from cluster.models.connections.connection_store import ConnectionStore
from cluster.models.connections.egress import clients_of
from cluster.models.connections.model_resolver import ModelResolver
from cluster.models.routing.router import ModelRouter
from cluster.models.routing.spend import SpendStore
from cluster.state.db.postgres import Database
from cluster.state.vault import vault_of
from cluster.state.work.jobs import JobLedger
from configs.sections import Settings
from configs.sections_retrieval import GraphSettings
from pipelines.documents.graph.extract import GraphExtractor
from pipelines.documents.graph.graph_rows import GraphStore
from pipelines.documents.graph.graph_stage import GraphStage
from pipelines.documents.graph.lexicon import NameLexicon
from pipelines.documents.graph.model_extraction import RoutedReader
from pipelines.documents.graph.places import load_gazetteer


def graph_stage(settings: Settings, database: Database, jobs: JobLedger) -> GraphStage:
    """The stage, with a model beside the rules unless that is switched off.

    Raises InvalidSettings: the vault's key or the connections file is wrong.
    """
    reader = None if settings.graph.model == "off" else _build_reader(settings, database)
    return GraphStage(jobs, GraphStore(database), lambda: build_extractor(settings.graph), settings.graph, reader)


def build_extractor(settings: GraphSettings) -> GraphExtractor:
    """The rules with the names and places that ship."""
    return GraphExtractor(NameLexicon.shipped(), load_gazetteer(), settings)


def _build_reader(settings: Settings, database: Database) -> RoutedReader:
    vault = vault_of(settings.models.vault_key, settings.state_dir)
    connections = ConnectionStore(database, vault, load_connections(settings.models.connections_file, settings.llm))
    clients = clients_of(settings.models, settings.http.host)
    switchboard = ModelResolver(connections, clients, settings.models, asyncio.sleep)
    spend = SpendStore(database, lambda: datetime.now(UTC))
    router = ModelRouter(switchboard, spend, most=settings.models.max_fallbacks)
    return RoutedReader(router, settings.graph.model_seconds)
