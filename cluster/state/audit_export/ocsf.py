"""Entries of the audit trail as events of the Open Cybersecurity Schema Framework (schema.ocsf.io)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cluster.state.audit_export.chain import ChainedEntry

VERSION = "1.3.0"
OTHER = 99
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CATEGORIES = {3: "Identity & Access Management", 6: "Application Activity"}
_CLASSES = {
    3001: "Account Change",
    3002: "Authentication",
    3004: "Entity Management",
    3006: "Group Management",
    6003: "API Activity",
}
_CRUD = {1: "Create", 2: "Read", 3: "Update", 4: "Delete"}
_NAMES: Mapping[int, Mapping[int, str]] = {
    3001: {1: "Create", 3: "Password Change", 4: "Password Reset", 7: "Attach Policy", 8: "Detach Policy"},
    3002: {1: "Logon", 2: "Logoff"},
    3004: _CRUD,
    3006: {3: "Add User", 4: "Remove User"},
    6003: _CRUD,
}
# What has an activity of its own; everything else is told by its noun and verb.
_ACTIONS: Mapping[str, tuple[int, int]] = {
    "session.begin": (3002, 1),
    "session.refresh": (3002, OTHER),
    "session.end": (3002, 2),
    "password.change": (3001, 3),
    "user.add": (3001, 1),
    "user.change": (3001, OTHER),
    "user.password": (3001, 4),
    "user.grant": (3001, 7),
    "user.leave": (3001, 8),
    "user.unlink": (3001, 8),
    "group.join": (3006, 3),
    "group.leave": (3006, 4),
}
# Nouns of things that are kept; what is done with others is a call of the API.
_ENTITIES = frozenset(
    {
        *("agent", "api_key", "credential", "document", "documents", "golden_set", "group", "llm_connection"),
        *("ocr", "page", "schedule", "session", "settings", "skill", "tenant", "user", "workspace"),
    }
)
_VERBS: Mapping[str, int] = {
    **dict.fromkeys(("add", "enrol", "fill", "import", "open", "register", "upload"), 1),
    **dict.fromkeys(("attach", "bind", "change", "chunking", "correct", "detach", "drop", "key", "languages"), 3),
    **dict.fromkeys(("link", "readers", "review", "switch", "unbind", "unlink"), 3),
    **dict.fromkeys(("clear", "delete", "remove", "revoke"), 4),
}
_CALLS = frozenset({"call", "open", "run", "test", "try"})  # of skills, credentials and the like: they change nothing
_METHODS = {"GET": 2, "POST": 1, "PUT": 3, "PATCH": 3, "DELETE": 4}


@dataclass(frozen=True, slots=True)
class _Status:
    id: int
    name: str
    severity_id: int
    severity: str


_STATUSES = {
    "done": _Status(1, "Success", 1, "Informational"),
    "denied": _Status(2, "Failure", 3, "Medium"),
    "failed": _Status(2, "Failure", 2, "Low"),
}

OUTCOMES = frozenset(_STATUSES)


def ocsf_event(entry: ChainedEntry) -> dict[str, Any]:
    """The entry as an event; `unmapped` holds it as it is, so that its chain can be verified from the events alone."""
    class_, activity = _classify(entry.action)
    status = _STATUSES[entry.outcome]
    moment = (entry.at - _EPOCH) // timedelta(milliseconds=1)
    named = _NAMES[class_].get(activity, entry.action)
    return {
        "metadata": {
            "version": VERSION,
            "product": {"name": "AOS", "vendor_name": "AOS"},
            "uid": entry.id,
            "sequence": entry.seq,
            "tenant_uid": entry.tenant,
            "log_name": "audit",
        },
        "category_uid": class_ // 1000,
        "category_name": _CATEGORIES[class_ // 1000],
        "class_uid": class_,
        "class_name": _CLASSES[class_],
        "activity_id": activity,
        "activity_name": named,
        "type_uid": class_ * 100 + activity,
        "type_name": f"{_CLASSES[class_]}: {named if activity != OTHER else 'Other'}",
        "time": moment,
        "severity_id": status.severity_id,
        "severity": status.severity,
        "status_id": status.id,
        "status": status.name,
        "status_detail": entry.outcome,
        "message": f"{entry.action} {entry.object}: {entry.outcome}",
        "actor": {"user": _actor(entry)},
        **_particulars(class_, entry),
        "unmapped": entry.as_json(),
    }


def _classify(action: str) -> tuple[int, int]:
    """Class and activity. Refused requests are called by method and path."""
    if action in _ACTIONS:
        return _ACTIONS[action]
    if (method := action.partition(" ")[0]) in _METHODS:
        return 6003, _METHODS[method]
    noun, _, verb = action.partition(".")
    if (noun in _ENTITIES and verb not in _CALLS | {"execute"}) or action == "session.open":
        return 3004, _VERBS.get(verb, OTHER)
    return 6003, _VERBS.get(verb, OTHER) if verb not in _CALLS else OTHER


def _actor(entry: ChainedEntry) -> dict[str, Any]:
    if entry.actor == "worker":
        return {"uid": "worker", "name": "worker", "type_id": 3, "type": "System"}
    known = {} if entry.email is None else {"name": entry.email, "email_addr": entry.email}
    return {"uid": entry.actor, **known, "type_id": 1, "type": "User"}


def _particulars(class_: int, entry: ChainedEntry) -> dict[str, Any]:
    """What its class requires."""
    place = {"svc_name": "aos"}
    if class_ == 3002:
        return {"user": _actor(entry), "service": {"name": "aos"}, "is_remote": True}
    if class_ == 3001:
        return {"user": _actor(entry) if entry.action == "password.change" else {"uid": entry.object}}
    if class_ == 3006:
        return {"group": {"uid": entry.object}, "user": {"uid": str((entry.detail or {}).get("user", "unknown"))}}
    if class_ == 3004:
        return {"entity": {"uid": entry.object, "type": entry.action.partition(".")[0]}}
    resource = {"uid": entry.object, "type": entry.action.partition(".")[0]}
    return {"api": {"operation": entry.action}, "src_endpoint": place, "resources": [resource]}
