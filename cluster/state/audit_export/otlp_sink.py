"""Logs of OpenTelemetry over HTTP (OTLP, protobuf), confirmed by the collector's answer to each request."""

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from cluster.basics.bounded_answers import ANSWER_BYTES, AnswerRefused, bounded_hooks
from cluster.state.audit_export.chain import ChainedEntry
from cluster.state.audit_export.sinks import CollectorAway, entry_line
from configs.audit_sinks import OtlpSink

PROTOBUF = "application/x-protobuf"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SEVERITIES = {
    "done": (SeverityNumber.SEVERITY_NUMBER_INFO, "INFO"),
    "denied": (SeverityNumber.SEVERITY_NUMBER_WARN, "WARN"),
    "failed": (SeverityNumber.SEVERITY_NUMBER_ERROR, "ERROR"),
}


class OtlpCollector:
    """An `AuditSink` that speaks OTLP over HTTP."""

    def __init__(self, settings: OtlpSink) -> None:
        """Nothing is connected. Raises OSError: the authority's file cannot be read."""
        self._settings = settings
        self._tls = ssl.create_default_context(cafile=settings.ca_file)
        self._headers = {"Content-Type": PROTOBUF}
        if settings.token is not None:
            self._headers["Authorization"] = f"Bearer {settings.token}"

    async def send(self, tenant: str, entries: Sequence[ChainedEntry]) -> None:
        """See `AuditSink`."""
        body = self._request(tenant, entries).SerializeToString()
        place, seconds = self._settings.endpoint, self._settings.seconds
        how: Any = {"timeout": seconds, "trust_env": False, "event_hooks": bounded_hooks("the collector", ANSWER_BYTES)}
        try:
            async with asyncio.timeout(seconds), httpx2.AsyncClient(verify=self._tls, **how) as client:
                answer = await client.post(place, content=body, headers=self._headers)
        except (AnswerRefused, httpx2.HTTPError, TimeoutError) as error:
            raise CollectorAway(f"{place}: {error or type(error).__name__}") from error
        if answer.status_code != 200:
            raise CollectorAway(f"{place} answers {answer.status_code}")
        _raise_rejected(place, answer)

    def _request(self, tenant: str, entries: Sequence[ChainedEntry]) -> ExportLogsServiceRequest:
        records = [self._record(entry) for entry in entries]
        logs = ScopeLogs(scope=InstrumentationScope(name="aos.audit"), log_records=records)
        resource = Resource(attributes=[_text("service.name", "aos"), _text("aos.tenant", tenant)])
        return ExportLogsServiceRequest(resource_logs=[ResourceLogs(resource=resource, scope_logs=[logs])])

    def _record(self, entry: ChainedEntry) -> LogRecord:
        number, text = _SEVERITIES[entry.outcome]
        nanoseconds = (entry.at - _EPOCH) // timedelta(microseconds=1) * 1_000
        return LogRecord(
            time_unix_nano=nanoseconds,
            observed_time_unix_nano=nanoseconds,
            severity_number=number,
            severity_text=text,
            body=AnyValue(string_value=entry_line(entry, self._settings.format)),
            attributes=[
                _text("log.record.uid", entry.id),
                _text("event.name", f"aos.audit.{entry.action}"),
                KeyValue(key="aos.audit.seq", value=AnyValue(int_value=entry.seq)),
            ],
        )


def _raise_rejected(place: str, answer: httpx2.Response) -> None:
    """Raises CollectorAway: the collector says that it has not taken all, or says nothing that makes sense."""
    try:
        told = ExportLogsServiceResponse.FromString(answer.content).partial_success
    except DecodeError:
        raise CollectorAway(f"{place} answers what is no OTLP") from None
    if told.rejected_log_records:
        raise CollectorAway(f"{place} rejects {told.rejected_log_records}: {told.error_message[:200]}")


def _text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))
