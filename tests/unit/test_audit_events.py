"""Entries of the audit trail as OCSF events and OTLP logs, and the file that names their collectors."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.errors import InvalidSettings
from cluster.state.audit_export.chain import ChainedEntry, json_line, parse_json
from cluster.state.audit_export.file_sink import FileCollector
from cluster.state.audit_export.ocsf import ocsf_event
from cluster.state.audit_export.sinks import CollectorAway
from cluster.state.audit_export.verify import verify_lines
from cluster.state.db.postgres import Database
from configs.audit_sinks import FileSink, OtlpSink, SyslogSink, load_sinks
from configs.sections_audit import AuditSettings
from configs.settings import InvalidConfiguration
from serve_apps.wiring.audit_collectors import build_audit_exporter

TENANT = "7a0c9a0e-0000-4000-8000-000000000001"
# What schema.ocsf.io 1.3 requires of each class beyond what every event has.
REQUIRED = {3001: {"user"}, 3002: {"user", "service"}, 3004: {"entity"}, 3006: {"group"}, 6003: {"api", "src_endpoint"}}
EVERY_EVENT = {
    *("activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid", "status_id", "actor"),
    *("activity_name", "category_name", "class_name", "type_name", "severity", "status", "unmapped"),
}


def entries(*actions: str, **changed: Any) -> list[ChainedEntry]:
    """A chain."""
    made: list[ChainedEntry] = []
    at = datetime(2026, 11, 28, 12, 0, 0, 123_456, UTC)
    for seq, action in enumerate(actions, 1):
        before = made[-1].hash if made else ""
        one = ChainedEntry(TENANT, seq, at, "u1", action, "o1", "done", {"n": seq}, before, "", email="a@x.example")
        one = replace(one, **changed)
        made.append(replace(one, hash=one.computed or ""))
    return made


@pytest.mark.parametrize(
    ("action", "outcome", "class_", "activity"),
    [
        ("session.begin", "done", 3002, 1),
        ("session.begin", "denied", 3002, 1),
        ("session.end", "done", 3002, 2),
        ("session.refresh", "done", 3002, 99),
        ("session.delete", "done", 3004, 4),
        ("password.change", "done", 3001, 3),
        ("user.add", "done", 3001, 1),
        ("user.password", "done", 3001, 4),
        ("group.join", "done", 3006, 3),
        ("group.add", "done", 3004, 1),
        ("document.delete", "done", 3004, 4),
        ("settings.change", "done", 3004, 3),
        ("skill.call", "failed", 6003, 99),
        ("agent.execute", "done", 6003, 99),
        ("DELETE /api/documents/{document_id}", "denied", 6003, 4),
        ("something.new", "done", 6003, 99),
        ("bare", "done", 6003, 99),
    ],
)
def test_at_01_each_entry_is_an_event_of_the_class_that_fits(
    action: str, outcome: str, class_: int, activity: int
) -> None:
    """AT-01: with everything that OCSF requires of its class."""
    (entry,) = entries(action, outcome=outcome)
    event = ocsf_event(entry)
    assert (event["class_uid"], event["activity_id"]) == (class_, activity)
    assert event["type_uid"] == class_ * 100 + activity and event["category_uid"] == class_ // 1000
    assert set(event) >= EVERY_EVENT | REQUIRED[class_]
    assert event["status_id"] == (1 if outcome == "done" else 2)
    assert event["time"] == 1_795_867_200_123 and event["metadata"]["version"] == "1.3.0"
    assert event["metadata"]["uid"] == f"{TENANT}:1" and event["actor"]["user"]["email_addr"] == "a@x.example"
    assert verify_lines([json_line(event)]).intact


def test_numbers_reach_a_collector_as_they_were_written() -> None:
    text = f'{{"a": 1.10, "b": 100000000000000000000.0, "c": 0.1, "d": {"7" * 5_000}, "e": -12}}'
    assert json_line(parse_json(text)) == text.replace(" ", "")
    with pytest.raises(ValueError, match="NaN"):
        parse_json('{"a": NaN}')


async def test_files_hold_each_entry_once_whatever_is_sent_again(tmp_path: Path) -> None:
    sent, days = entries(*["agent.add"] * 9), [datetime(2026, 11, 28, tzinfo=UTC)]
    sink = FileCollector(FileSink(name="f", kind="file", folder=tmp_path, format="jsonl"), lambda: days[-1])
    await sink.send(TENANT, sent[:3])
    await sink.send(TENANT, sent[:5])
    days.append(datetime(2026, 11, 29, tzinfo=UTC))
    await sink.send(TENANT, sent[3:9])
    await sink.send(TENANT, sent)
    files = sorted((tmp_path / TENANT).iterdir())
    assert [one.name for one in files] == ["audit-000000000001-2026-11-28.jsonl", "audit-000000000006-2026-11-29.jsonl"]
    assert [len(one.read_text().splitlines()) for one in files] == [5, 4]
    report = verify_lines(line for one in files for line in one.read_text().splitlines())
    assert (report.intact, report.entries, report.repeated) == (True, 9, 0)
    files[-1].write_text("what is this\n")
    with pytest.raises(CollectorAway):
        await sink.send(TENANT, sent)


@pytest.mark.parametrize(
    ("was", "is_"),
    [
        ('"n":1', '"n":1E+999999999'),
        ('"n":1', '"n":' + "[" * 100_000 + "]" * 100_000),
        ('"n":1', '"n":"\\ud800"'),
        ('"n":1', '"n":NaN'),
        ('"n":1', '"n":' + "9" * 5_000),
        ('"seq":1', '"seq":true'),
        ('"at":"2026', '"at":"0001'),
        ('"at":"2026', '"at":"99999'),
        ('"detail":{"n":1}', '"detail":7'),
        ('"outcome":"done"', '"outcome":"well"'),
        ('"detail":{"n":1}', '"detail":null'),
    ],
)
def test_what_somebody_forged_is_a_flaw_and_never_a_crash(was: str, is_: str) -> None:
    (entry,) = entries("agent.add")
    line = json_line(ocsf_event(entry))
    assert was in line
    report = verify_lines([line.replace(was, is_)])
    assert report.flawed >= 1 or report.unhashed == 1


GOOD = """
sinks:
  - {name: siem, kind: syslog, host: siem.example, ca_file: /etc/ca.pem,
     tenants: [7a0c9a0e-0000-4000-8000-000000000001]}
  - {name: otel, kind: otlp, endpoint: "https://otel.example:4318", token: s3cr3t}
  - {name: archive, kind: file, folder: /var/audit, format: jsonl}
"""


def test_collectors_are_read_by_their_kind(tmp_path: Path) -> None:
    path = tmp_path / "sinks.yaml"
    path.write_text(GOOD, encoding="utf-8")
    siem, otel, archive = load_sinks(path)
    assert isinstance(siem, SyslogSink) and (siem.port, str(siem.tenants[0])) == (6514, TENANT)
    assert isinstance(otel, OtlpSink) and otel.endpoint == "https://otel.example:4318/v1/logs"
    assert isinstance(archive, FileSink) and archive.format == "jsonl"
    assert load_sinks(None) == ()
    with pytest.raises(InvalidSettings, match="siem"):
        build_audit_exporter(AuditSettings(sinks_file=path), Database("host=nowhere"))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("https://otel", "http://otel"), "endpoint"),
        (("kind: file", "kind: carrier-pigeon"), "sinks.2"),
        (("name: otel", "name: siem"), "stands there twice"),
        (("host: siem", "hots: siem"), "hots"),
        (("7a0c9a0e-0000", "mine"), "tenants"),
        (("- {name: siem", "- {{name: siem"), "line"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_never_with_a_secret(
    tmp_path: Path, changed: tuple[str, str], said: str
) -> None:
    path = tmp_path / "sinks.yaml"
    path.write_text(GOOD.replace(*changed), encoding="utf-8")
    with pytest.raises(InvalidConfiguration) as caught:
        load_sinks(path)
    assert said in str(caught.value) and "s3cr3t" not in str(caught.value)


def test_a_message_is_framed_as_syslog_has_it() -> None:
    from cluster.state.audit_export.syslog_sink import SyslogCollector

    sink = SyslogCollector(SyslogSink(name="s", kind="syslog", host="h", max_bytes=2_048), "aos.example")
    (entry,) = entries("agent.add", outcome="denied", detail={"text": "é\n"})
    length, _, message = sink._frame(entry).partition(b" ")
    assert int(length) == len(message) and message.isascii()
    head, _, body = message.decode().partition(" {")
    assert head == (
        "<108>1 2026-11-28T12:00:00.123456Z aos.example aos - agent.add "
        f'[aos@32473 id="{TENANT}:1" seq="1" tenant="{TENANT}"]'
    )
    assert json.loads("{" + body)["unmapped"]["detail"] == {"text": "é\n"}
