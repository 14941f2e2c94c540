"""The parts of the API that send events and take them: nothing of them runs, receivers are on this machine."""

from pathlib import Path
from typing import Any

from cluster.basics.addresses import resolve_host
from cluster.state.audit import AuditLog
from cluster.state.audit_export.cursors import AuditCursors
from cluster.state.audit_export.exporter import AuditExporter
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore
from cluster.state.limits.limiter import Limiter
from cluster.state.metrics_store import MetricsStore
from cluster.state.vault import Vault, VaultKey
from cluster.state.webhooks.deliveries import WebhookDeliveries
from cluster.state.webhooks.webhook_store import WebhookStore
from cluster.state.work.jobs import JobLedger
from configs.sections import ReadSettings
from configs.sections_audit import AuditSettings
from configs.sections_events import EventStreamSettings, WebhookSettings
from configs.sections_limits import LimitSettings
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.blobs import FolderBlobs
from pipelines.documents.store.library import DocumentLibrary
from serve_apps.events.event_stream import UploadedEventStream
from serve_apps.events.uploaded_intake import IntakeParts, UploadedEventIntake
from serve_apps.events.webhook_client import WebhookClient
from serve_apps.events.webhook_sender import WebhookSender

VAULT = Vault([VaultKey(b"k" * 32)])


def webhook_sender(
    database: Database, settings: WebhookSettings, owner: str = "test", vault: Vault = VAULT
) -> WebhookSender:
    """A sender that is not open yet."""
    stores = WebhookStore(database, vault), WebhookDeliveries(database), IdentityStore(database)
    return WebhookSender(*stores, WebhookClient(settings, resolve_host), settings, owner=owner)


def event_intake(database: Database, folder: Path) -> UploadedEventIntake:
    """Blobs below `blobs` in the folder, what may be scanned below `scans`."""
    limits = Limiter.of(database, None, LimitSettings(enabled=False), MetricsStore(None))
    stores = JobLedger(database), DocumentLibrary(database), AgentLinks(database)
    blobs = FolderBlobs(folder / "blobs", base=folder / "scans")
    parts = IntakeParts(database, *stores, limits, AuditLog(database), blobs)
    return UploadedEventIntake(parts, ReadSettings(nfs_base_path=str(folder / "scans")))


def event_parts(database: Database, folder: Path) -> dict[str, Any]:
    """By their names among the application's dependencies."""
    intake = event_intake(database, folder)
    return {
        "exporter": AuditExporter(AuditCursors(database), {}, AuditSettings(), owner="test"),
        "webhooks": webhook_sender(database, WebhookSettings(hosts=("127.0.0.1:9",))),
        "uploaded_events": intake,
        "event_stream": UploadedEventStream(
            None, intake, IdentityStore(database), EventStreamSettings(), consumer="test"
        ),
    }
