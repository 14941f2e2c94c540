"""Wiring of skills in this process, built from settings: documents, secrets, a sandbox, the audit trail."""

from collections.abc import Callable
from datetime import datetime

from cluster.basics.addresses import resolve_host
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.vault import Vault
from configs.sections import Settings
from pipelines.documents.graph.browse import KnowledgeGraph
from pipelines.documents.graph.lexicon import NameLexicon
from serve_apps.agents.skill_audit import SkillCallAudit
from serve_apps.agents.turn.graph_context import GraphEntities
from serve_apps.agents.turn.knowledge import AgentKnowledge, PassageSearch
from serve_apps.agents.turn.table_context import AgentTables
from serve_apps.retrieval.extraction.agent_fields import AgentFields
from serve_apps.retrieval.extraction.document_extractor import DocumentExtractor
from serve_apps.retrieval.tables.table_workbench import TableWorkbench
from skills.framework.builtin import BASE, shipped_skill
from skills.framework.catalogue import ToolCatalog
from skills.framework.dependencies import CredentialOpener, ScriptRunner, SkillDependencies
from skills.framework.manifest import Kind
from skills.framework.skill_guard import SkillGuard
from skills.http_client.fetch import GuardedHttpClient
from skills.oauth.oauth_connections import MOST_BYTES, REQUEST_SECONDS, OAuthConnections


def build_skill_guard(
    settings: Settings,
    database: Database,
    audit: AuditLog,
    search: PassageSearch,
    credentials: CredentialOpener,
    scripts: ScriptRunner,
    workbench: TableWorkbench,
    extractor: DocumentExtractor,
) -> SkillGuard:
    """The fence that all skills of this process are behind."""
    entities = GraphEntities(KnowledgeGraph(database, NameLexicon.shipped()))
    knows, hosts = AgentKnowledge(search), settings.agents.http_allow
    tables = AgentTables(workbench, search)
    ground = SkillDependencies(
        settings.skills,
        credentials,
        knows,
        scripts,
        resolve_host,
        hosts,
        entities=entities,
        tables=tables,
        fields=AgentFields(extractor),
    )
    return SkillGuard(ground, SkillCallAudit(database, audit))


def build_oauth_connections(
    settings: Settings, database: Database, audit: AuditLog, vault: Vault, clock: Callable[[], datetime]
) -> OAuthConnections:
    """People's connections; authorization servers are asked by the same allow-list as skills are."""
    way = GuardedHttpClient(settings.agents.http_allow, resolve_host, REQUEST_SECONDS, MOST_BYTES)
    return OAuthConnections(database, audit, vault, way, clock)


def base_tools(around: SkillGuard) -> ToolCatalog:
    """Base tools of every agent; delegation is bound to each turn."""
    found = map(shipped_skill, BASE)
    return ToolCatalog(around.around(one) for one in found if one.kind is not Kind.DELEGATE)
