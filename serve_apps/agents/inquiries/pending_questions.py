"""What is told of what waits for a person, and of what they said: the events of approvals and of questions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from cluster.state.approvals import Category, Wanted
from cluster.state.canonical_json import action_digest, normal
from cluster.state.work.run_record import Step
from serve_apps.agents.durable.recorder import Decided
from serve_apps.agents.events import EventKind
from serve_apps.agents.turn_ports import Json

Told = tuple[EventKind, Mapping[str, Any]]


def wanted_of(
    run: str, step: Step, arguments: Mapping[str, Json], reason: str, expires: datetime | None, category: Category
) -> Wanted:
    """What a step puts before a person, under an id that is the same at every walk of its run."""
    id_ = str(uuid5(UUID(run), f"{step.seq} {category}"))
    return Wanted(id_, run, step.seq, step.name, normal(arguments), reason, expires, category)


def asked(wanted: Wanted) -> list[Told]:
    """That a run waits, and for what."""
    expires = None if wanted.expires_at is None else wanted.expires_at.isoformat()
    if wanted.category is Category.INPUT:
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


def answered(wanted: Wanted, decided: Decided, arguments: Mapping[str, Json]) -> Told:
    """What a person said; of a question that nobody answered there is no reply."""
    if wanted.category is Category.INPUT:
        state = "answered" if decided.state == "approved" else decided.state
        return EventKind.INPUT_GIVEN, {"id": wanted.id, "state": state, "reply": arguments.get("reply")}
    data = {"id": wanted.id, "state": decided.state, "reviewer": decided.reviewer, "arguments": arguments}
    return EventKind.APPROVAL_DECIDED, data
