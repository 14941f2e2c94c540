"""Events of approval requests and questions: that something waits for a person, and their reply."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from cluster.state.approvals import ApprovalCategory, ApprovalRequest
from cluster.state.canonical_json import action_digest, normalize_json
from cluster.state.work.run_record import RunStep
from serve_apps.agents.durable.recorder import ApprovalDecision
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn_ports import Json

Told = tuple[EventKind, Mapping[str, Any]]


def wanted_of(
    run: str,
    step: RunStep,
    arguments: Mapping[str, Json],
    reason: str,
    expires: datetime | None,
    category: ApprovalCategory,
) -> ApprovalRequest:
    """The request that a step puts before a person, under an id that is the same at every replay of its run."""
    id_ = str(uuid5(UUID(run), f"{step.seq} {category}"))
    return ApprovalRequest(id_, run, step.seq, step.name, normalize_json(arguments), reason, expires, category)


def asked(wanted: ApprovalRequest) -> list[Told]:
    """That a run waits, and for what."""
    expires = None if wanted.expires_at is None else wanted.expires_at.isoformat()
    if wanted.category is ApprovalCategory.INPUT:
        question = {"id": wanted.id, "options": [], **wanted.arguments, "expires_at": expires}
        return [(EventKind.STATUS, {"state": "waiting_input"}), (EventKind.INPUT_REQUIRED, {"input": question})]
    shown = {
        "id": wanted.id,
        "tool": wanted.tool,
        "arguments": wanted.arguments,
        "reason": wanted.reason,
        "digest": action_digest(wanted.tool, wanted.arguments),
        "category": wanted.category,
        "expires_at": expires,
    }
    return [(EventKind.STATUS, {"state": "waiting_approval"}), (EventKind.APPROVAL_REQUIRED, {"approval": shown})]


def answered(wanted: ApprovalRequest, decided: ApprovalDecision, arguments: Mapping[str, Json]) -> Told:
    """The reply of a person; of a question that nobody answered there is none."""
    if wanted.category is ApprovalCategory.INPUT:
        state = "answered" if decided.state == "approved" else decided.state
        return EventKind.INPUT_GIVEN, {"id": wanted.id, "state": state, "reply": arguments.get("reply")}
    data = {"id": wanted.id, "state": decided.state, "reviewer": decided.reviewer, "arguments": arguments}
    return EventKind.APPROVAL_DECIDED, data
