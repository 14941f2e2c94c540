"""Puts the exporter of the audit trail together from the collectors that an operator declares."""

import os
import socket
from datetime import UTC, datetime
from typing import assert_never
from uuid import uuid4

from cluster.basics.errors import InvalidSettings
from cluster.state.audit_export.cursors import AuditCursors
from cluster.state.audit_export.exporter import AuditExporter, PlacedSink
from cluster.state.audit_export.file_sink import FileCollector
from cluster.state.audit_export.otlp_sink import OtlpCollector
from cluster.state.audit_export.sinks import AuditSink
from cluster.state.audit_export.syslog_sink import SyslogCollector
from cluster.state.db.postgres import Database
from configs.audit_sinks import FileSink, OtlpSink, SyslogSink, load_sinks
from configs.sections_audit import AuditSettings


def build_audit_exporter(settings: AuditSettings, database: Database) -> AuditExporter:
    """The exporter, which sends nothing before it is opened. Raises InvalidSettings: a certificate cannot be read."""
    placed = {}
    for declared in load_sinks(settings.sinks_file):
        tenants = [str(one) for one in declared.tenants] or None
        placed[declared.name] = PlacedSink(_collector(declared), declared.kind, tenants)
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
    return AuditExporter(AuditCursors(database), placed, settings, owner=owner)


def _collector(declared: SyslogSink | OtlpSink | FileSink) -> AuditSink:
    try:
        if isinstance(declared, SyslogSink):
            return SyslogCollector(declared, socket.gethostname())
        if isinstance(declared, OtlpSink):
            return OtlpCollector(declared)
        if isinstance(declared, FileSink):
            return FileCollector(declared, lambda: datetime.now(UTC))
    except OSError as error:  # also what TLS says of certificates and keys
        raise InvalidSettings(f"audit.sinks_file: {declared.name}: {error}") from error
    assert_never(declared)
