"""Puts together what sends events out and what takes them in."""

import os
import socket
from uuid import uuid4

from redis.asyncio import Redis

from cluster.basics.addresses import resolve_host
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore
from cluster.state.limits.limiter import Limiter
from cluster.state.vault import Vault, vault_of
from cluster.state.webhooks.deliveries import WebhookDeliveries
from cluster.state.webhooks.webhook_store import WebhookStore
from cluster.state.work.jobs import JobLedger
from cluster.state.work.work_bell import WorkBell
from configs.sections import Settings
from pipelines.documents.store.agent_links import AgentLinks
from pipelines.documents.store.blobs import BlobStore
from pipelines.documents.store.library import DocumentLibrary
from serve_apps.events.event_stream import UploadedEventStream
from serve_apps.events.uploaded_intake import IntakeParts, UploadedEventIntake
from serve_apps.events.webhook_client import WebhookClient
from serve_apps.events.webhook_sender import WebhookSender


def build_webhook_sender(settings: Settings, database: Database, bell: WorkBell) -> WebhookSender:
    """The sender, which sends nothing before it is opened. Raises InvalidSettings: the vault's key is wrong."""
    vault: Vault = vault_of(settings.models.vault_key, settings.state_dir)
    store, deliveries = WebhookStore(database, vault), WebhookDeliveries(database)
    client = WebhookClient(settings.webhooks, resolve_host)
    parts = store, deliveries, IdentityStore(database), client
    return WebhookSender(*parts, settings.webhooks, owner=_process_name(), bell=bell)


def build_event_intake(
    settings: Settings, database: Database, blobs: BlobStore, limits: Limiter, audit: AuditLog
) -> UploadedEventIntake:
    """What takes events, whichever way they come."""
    stores = JobLedger(database), DocumentLibrary(database), AgentLinks(database)
    return UploadedEventIntake(IntakeParts(database, *stores, limits, audit, blobs), settings.read)


def build_event_stream(
    settings: Settings, database: Database, redis: Redis, intake: UploadedEventIntake
) -> UploadedEventStream:
    """The consumer, which reads nothing before it is opened, and nothing where no stream is named."""
    stream = settings.event_stream
    return UploadedEventStream(redis, intake, IdentityStore(database), stream, consumer=_process_name())


def _process_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
