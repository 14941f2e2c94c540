"""The audit trail as OTLP logs over HTTP: confirmed by the collector's answer, and by nothing else."""

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from cluster.state.audit_export.chain import json_line
from cluster.state.audit_export.ocsf import ocsf_event
from cluster.state.audit_export.otlp_sink import OtlpCollector
from cluster.state.audit_export.sinks import CollectorAway
from cluster.state.audit_export.verify import verify_lines
from configs.audit_sinks import OtlpSink
from tests.fakes.collector import collecting
from tests.unit.test_audit_events import TENANT, entries


async def test_otlp_is_confirmed_by_the_collectors_answer_alone() -> None:
    sent = entries("agent.add", "agent.delete")
    async with collecting() as collector:
        sink = OtlpCollector(OtlpSink(name="o", kind="otlp", endpoint=collector.url, token="t0k3n", seconds=2))
        await sink.send(TENANT, sent)
        request = ExportLogsServiceRequest.FromString(collector.bodies["/v1/logs"][0])
        (logs,) = request.resource_logs[0].scope_logs
        assert [one.body.string_value for one in logs.log_records] == [json_line(ocsf_event(one)) for one in sent]
        assert collector.headers["authorization"] == "Bearer t0k3n"
        assert verify_lines(one.body.string_value for one in logs.log_records).intact
        partial = ExportLogsServiceResponse()
        partial.partial_success.rejected_log_records = 1
        for status, reply in (
            ("200 OK", partial.SerializeToString()),
            ("200 OK", b"<html>\xff\xff"),
            ("429 Too Many Requests", b""),
            ("500 Internal Server Error", b""),
            ("302 Found", b""),
        ):
            collector.status, collector.reply = status, reply
            with pytest.raises(CollectorAway):
                await sink.send(TENANT, sent)
    async with collecting(answers=False) as silent:
        with pytest.raises(CollectorAway):
            await OtlpCollector(OtlpSink(name="o", kind="otlp", endpoint=silent.url, seconds=0.2)).send(TENANT, sent)
