"""Checks that somebody had to think of: what rows say of each other, beyond their keys, in one table."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.state.db.postgres import load_queries
from serve_apps.integrity.integrity_finding import Family
from serve_apps.integrity.reference_checks import is_searched
from serve_apps.integrity.row_check import DELETE, RowCheck
from serve_apps.integrity.table_catalogue import Catalogue

_CONDITIONS: Final = load_queries(Path(__file__).with_suffix(".sql"))
_SENTENCE: Final = re.compile(r"^-- \w+: (.+)$", re.MULTILINE)

_READ_AGAIN: Final = "Read each again: aos documents reprocess ID --wait"
_EMBED_AGAIN: Final = "Cut and embed each again: aos documents reprocess ID --wait"
_WORKER: Final = "A worker takes them up: `aos up`, then `aos jobs list`."


@dataclass(frozen=True, slots=True)
class RecordRule:
    """A condition by its name in record_checks.sql, and the tables it is asked of; the rest as in RowCheck."""

    family: Family
    condition: str
    tables: tuple[str, ...]
    mend: str = ""
    label: str = ""
    fix: str = ""


RULES: Final = (
    RecordRule(Family.DOCUMENTS, "document_without_version", ("documents",), fix=_READ_AGAIN),
    RecordRule(Family.DOCUMENTS, "document_without_pages", ("documents",), fix=_READ_AGAIN),
    RecordRule(Family.DOCUMENTS, "document_without_some_pages", ("documents",), fix=_READ_AGAIN),
    RecordRule(Family.DOCUMENTS, "document_without_chunks", ("documents",), fix=_EMBED_AGAIN),
    RecordRule(
        Family.VECTORS,
        "chunk_without_vector",
        ("document_chunks",),
        label="x.document_id || ' chunk ' || x.chunk_index",
        fix=_EMBED_AGAIN,
    ),
    # What says that they are there goes first: killed in between, a build that goes on would believe it.
    RecordRule(Family.VECTORS, "vector_of_unused_generation", ("indexed_versions", "embeddings"), DELETE),
    RecordRule(Family.VECTORS, "chunk_of_unused_cut", ("document_chunks",), DELETE),
    RecordRule(
        Family.VECTORS,
        "workspace_without_generation",
        ("workspaces",),
        fix="Build another, in each workspace: aos generations build --wait",
    ),
    RecordRule(Family.GRAPH, "evidence_without_page", ("entity_mentions", "relation_evidence"), DELETE),
    RecordRule(Family.GRAPH, "relation_without_evidence", ("relations",), DELETE),
    RecordRule(Family.GRAPH, "entity_without_mention", ("entities",), DELETE),
    RecordRule(Family.JOURNALS, "event_of_nobody", ("events",), DELETE),
    RecordRule(Family.JOURNALS, "counter_of_nobody", ("event_streams",), DELETE),
    RecordRule(
        Family.JOURNALS, "approval_of_ended_run", ("approvals",), "state = 'expired', decided_at = clock_timestamp()"
    ),
    RecordRule(Family.JOURNALS, "run_that_waits_for_nothing", ("runs",), fix="End each: aos runs cancel ID"),
    RecordRule(Family.JOURNALS, "event_for_nobody", ("outbox",), DELETE),
    RecordRule(
        Family.JOURNALS,
        "job_of_dead_worker",
        ("jobs",),
        # As a worker that gives a job back; the fence refuses the dead one, should it wake.
        "state = 'queued', owner = null, lease_until = null, fence = x.fence + 1",
    ),
    RecordRule(Family.JOURNALS, "run_of_dead_worker", ("runs",), fix=_WORKER),
    RecordRule(Family.JOURNALS, "due_time_of_dead_worker", ("schedules",), fix=_WORKER),
    RecordRule(Family.JOURNALS, "examination_of_dead_worker", ("golden_runs",), fix=_WORKER),
    RecordRule(Family.JOURNALS, "dead_lane_worker", ("lane_workers",), DELETE),
    RecordRule(Family.JOURNALS, "watch_of_nothing", ("source_watches",), DELETE),
    RecordRule(Family.JOURNALS, "setting_of_gone_workspace", ("system_settings",), DELETE),
    RecordRule(Family.UPLOADS, "upload_run_out", ("upload_sessions",), DELETE),
)


def record_checks(catalogue: Catalogue, rules: tuple[RecordRule, ...] = RULES) -> Iterator[RowCheck]:
    """Each rule for each of its tables, partitions one by one."""
    for rule in rules:
        what = sentence_of(rule.condition)
        for table in (one for family in rule.tables for one in catalogue.of_family(family)):
            condition = _CONDITIONS[rule.condition]
            searched = is_searched(table)
            yield RowCheck(
                rule.family, rule.condition, what, table, condition, rule.mend, rule.label, rule.fix, searched
            )


def sentence_of(condition: str, conditions: Mapping[str, str] = _CONDITIONS) -> str:
    """What is told of rows that fulfil a condition."""
    found = _SENTENCE.search(conditions[condition])
    assert found is not None
    return found.group(1)
