"""Every setting as an operator sees it: its names, type and bounds, and which programs take up a change, and when."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, TypeVar

from configs.section import Section
from configs.sections import Settings
from configs.settings import environment_names, section_types

Said = TypeVar("Said")
Kind = Literal["text", "integer", "number", "switch", "choice", "list"]
_KINDS: Mapping[str, Kind] = {"integer": "integer", "number": "number", "boolean": "switch", "array": "list"}


class Part(StrEnum):
    """A restartable part: `gateway` with the agents' programs; `whole` is everything that `aos up` started."""

    GATEWAY = "gateway"
    WORKER = "worker"
    EMBEDDING = "embedding"
    RERANKER = "reranker"
    LLM = "llm"
    CONSOLE = "console"
    WHOLE = "whole"


# The applications of serve.yaml that a part stands for; most are called as the part is.
APPLICATIONS: Mapping[Part, tuple[str, ...]] = {
    part: ("gateway", "orchestrator", "executor") if part is Part.GATEWAY else (part.value,)
    for part in Part
    if part is not Part.WHOLE
}

# Which parts read a section, and single keys where they differ. What is not here is read by the gateway.
_READ_BY: Mapping[str, tuple[Part, ...]] = {
    "log_level": (Part.GATEWAY, Part.WORKER, Part.EMBEDDING, Part.RERANKER),
    "redis": (Part.WHOLE,),
    "backup": (Part.WHOLE,),
    "console": (Part.CONSOLE,),
    "disk": (Part.GATEWAY, Part.WORKER),
    "blobs": (Part.GATEWAY, Part.WORKER),
    "ocr": (Part.GATEWAY, Part.WORKER),
    "vision": (Part.WORKER,),
    "vision.connection": (Part.GATEWAY, Part.WORKER),
    "read": (Part.GATEWAY, Part.WORKER),
    "read.idle": (Part.EMBEDDING, Part.GATEWAY, Part.WORKER),
    "chunk": (Part.GATEWAY, Part.WORKER),
    "embedding": (Part.EMBEDDING, Part.GATEWAY, Part.WORKER),
    "embedding.gpu": (Part.EMBEDDING, Part.RERANKER, Part.WORKER),  # who shares a GPU gets another share
    "embedding.min_replicas": (Part.EMBEDDING, Part.WORKER),
    "embedding.max_replicas": (Part.EMBEDDING, Part.RERANKER, Part.WORKER),
    "rerank.model": (Part.GATEWAY, Part.RERANKER),
    "rerank.download": (Part.GATEWAY, Part.RERANKER),
    "rerank.max_tokens": (Part.GATEWAY, Part.RERANKER),
    "rerank.gpu": (Part.EMBEDDING, Part.RERANKER, Part.WORKER),
    "ocr.gpu": (Part.EMBEDDING, Part.RERANKER, Part.WORKER),
    "gate": (Part.WORKER,),
    "graph": (Part.WORKER,),
    "llm": (Part.GATEWAY, Part.WORKER),
    "models": (Part.GATEWAY, Part.WORKER),
    "sources": (Part.GATEWAY, Part.WORKER),
    "search.exact_scope": (Part.GATEWAY, Part.WORKER),
    "vllm": (Part.WHOLE,),
    "worker": (Part.WORKER,),
}

# What is read anew each time it is used, so that a running gateway or worker takes it up without a restart.
_LIVE_GATEWAY: Mapping[str, tuple[str, ...]] = {
    "search": ("weight_keyword", "weight_vector", "rrf_k", "fuse_by", "long_words", "long_keyword_share", "spread",
               "fetch", "ef_search", "k1", "b", "embed_seconds"),
    "rerank": (
        "candidates", "weight_keyword", "llm", "llm_seconds", "remote_enabled", "remote_url", "remote_model",
        "remote_key", "remote_candidates", "remote_seconds",
    ),
    "enhance": ("enabled", "hyde", "decompose", "concepts", "seconds", "least_ms", "weight"),
    "limits": (
        "enabled", "requests", "reads", "chat", "agents", "admin_api", "admin", "uploads", "sign_in", "streams",
        "tenant_requests",
    ),
    "cache": ("risk", "similarity_threshold", "ttl_seconds", "mirrors", "wait_seconds"),
    "pack": ("diversity_factor", "least_share", "candidates"),
    "agents": (
        "max_rounds", "seconds", "rag_top_k", "temperature", "max_tokens", "max_depth", "dispatch_threshold",
        "planning_enabled", "max_plan_steps", "plan_style", "max_replans", "approval_hours",
    ),
    "memory": ("ttl_seconds", "sessions", "prompt_messages", "summary_after", "extract_facts"),
    "schedules": ("poll_seconds", "at_once", "seconds"),
    "academy": ("pass_mark", "questions_at_once"),
    "models": ("connect_seconds", "probe_seconds"),
    "uploads": ("part_bytes", "max_bytes", "session_seconds", "sessions", "sweep_seconds", "renew_seconds"),
    "http": ("max_upload_bytes", "max_body_bytes", "search_seconds", "ask_seconds"),
}  # fmt: skip
LIVE: Mapping[str, tuple[Part, ...]] = {"log_level": (Part.GATEWAY, Part.WORKER)} | {
    f"{section}.{key}": (Part.GATEWAY,) for section, keys in _LIVE_GATEWAY.items() for key in keys
}

_BEFORE = "it must be known before Postgres, where rows are stored, can be asked: set it in a file or the environment"
_MACHINE = "what may run or be loaded on this machine is said on this machine: set it in a file or the environment"
_FIXED: Mapping[str, str] = {
    "profile": _BEFORE,
    "state_dir": _BEFORE,
    "postgres": _BEFORE,
    "ray": _BEFORE,
    "light": _BEFORE,
    "http.host": _BEFORE,
    "http.port": _BEFORE,
    "models.vault_key": "it seals the rows themselves: see `aos vault rotate`",
    "auth.admin_email": "it is used once, at the very first start",
    "auth.admin_password": "it is used once, at the very first start",
    "console.enabled": _MACHINE,
    "console.api_url": _MACHINE,  # passwords are sent there
    "skills": _MACHINE,
    "sandbox.imports": _MACHINE,
    "sandbox.untrusted_without": _MACHINE,
    "backup": "where a copy of everything goes is said on this machine: set it in a file or the environment",
    "blobs": "bytes are moved by `aos blobs migrate`, never by a row: set it in a file or the environment",
    "ocr.easyocr_models": _MACHINE,
    "ocr.tesseract_data": _MACHINE,
    "vllm": "vLLM runs in an environment of its own, which cannot ask Postgres: set it in a file or the environment",
    "agents.approvals_file": _MACHINE,
    "models.connections_file": _MACHINE,
    "audit.sinks_file": _MACHINE,
}


@dataclass(frozen=True, slots=True)
class SettingKey:
    """One setting."""

    name: str  # dotted
    environment: str  # what it is called there
    kind: Kind
    default: Any
    nullable: bool  # whether it may be left empty
    secret: bool
    minimum: float | None  # of a number, as the next two
    maximum: float | None
    above: float | None  # a bound that is itself not allowed
    choices: tuple[Any, ...]  # all that there are, for a choice, or for the items of a list
    pattern: str | None  # what a text, or each item of a list, matches
    live: tuple[Part, ...]  # parts whose running programs take a change up by themselves
    restart: tuple[Part, ...]  # parts that have to be restarted for it; empty where all of it is live
    fixed: str | None  # why no row may set it; None where one may


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """Settings that stand together: the four coloured groups of an operator's page, then a group for each section."""

    id: str
    title: str
    colour: Literal["blue", "green", "amber", "purple", "grey"]
    about: str
    keys: tuple[str, ...]


_COLOURED = (
    SettingGroup(
        "app",
        "App server",
        "blue",
        "How the API is reached, signed and logged.",
        ("http.host", "http.port", "auth.secret_key", "log_level", "http.cors_origins"),
    ),
    SettingGroup(
        "database",
        "Database",
        "green",
        "Where durable state and vectors live.",
        ("postgres.host", "postgres.port", "postgres.database", "postgres.user", "postgres.password"),
    ),
    SettingGroup(
        "worker_ai",
        "Worker and models",
        "amber",
        "Where state that may be lost lives, and which model answers.",
        ("redis.host", "redis.port", "redis.password", "llm.base_url", "llm.model", "llm.api_key"),
    ),
    SettingGroup("storage", "Storage", "purple", "The folder that scans may come from.", ("read.nfs_base_path",)),
)


def setting_keys() -> dict[str, SettingKey]:
    """Every setting by its dotted name, in the order of the sections."""
    names, found = environment_names(), {}
    for section, owner, inside in _iter_sections():
        schema = owner.model_json_schema()["properties"]
        for key in inside:
            name = f"{section}.{key}" if section else key
            found[name] = _build_key(name, owner, key, schema[key], names.get(name, f"AOS_{name.upper()}"))
    return found


def setting_groups() -> list[SettingGroup]:
    """The coloured groups, then what is left of each section; every setting is in exactly one."""
    taken = {name for group in _COLOURED for name in group.keys}
    found = list(_COLOURED)
    for section, owner, inside in _iter_sections():
        names = (f"{section}.{key}" if section else key for key in inside)
        left = tuple(name for name in names if name not in taken)
        about = " ".join((owner.__doc__ or "").split()) if section else "What the program is told when it starts."
        id_ = section or "program"
        found.append(SettingGroup(id_, id_.replace("_", " ").capitalize(), "grey", about, left))
    return found


def value_of(settings: Settings, name: str) -> Any:
    """A setting's value as JSON."""
    return plain_value(attrgetter(name)(settings))


def plain_value(value: Any) -> Any:
    """A value of the settings as JSON."""
    if isinstance(value, tuple | list):
        return [plain_value(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _iter_sections() -> Iterator[tuple[str, type[Section], tuple[str, ...]]]:
    """A section's name (empty for what stands above them all), what owns it, and the keys in it."""
    sections = section_types()
    yield from ((name, kind, tuple(kind.model_fields)) for name, kind in sections.items())
    yield "", Settings, tuple(name for name in Settings.model_fields if name not in sections)


def _build_key(name: str, owner: type[Section], key: str, schema: Mapping[str, Any], environment: str) -> SettingKey:
    info = owner.model_fields[key]
    options = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    first = options[0]
    item = first.get("items", first)
    alternatives = [item] if "items" in first else options
    choices = [choice for one in alternatives for choice in _schema_choices(one, len(options))]
    kind: Kind = "choice" if choices and "items" not in first else _KINDS.get(first.get("type", ""), "text")
    live = LIVE.get(name, ())
    fixed = _table_entry(_FIXED, name)
    read_by = (Part.WHOLE,) if fixed is _BEFORE else _table_entry(_READ_BY, name) or (Part.GATEWAY,)
    return SettingKey(
        name=name,
        environment=environment,
        kind=kind,
        default=plain_value(info.get_default(call_default_factory=True)),
        nullable=len(options) < len(schema.get("anyOf", [schema])),
        secret=owner.is_secret(key),
        minimum=first.get("minimum"),
        maximum=first.get("maximum"),
        above=first.get("exclusiveMinimum"),
        choices=tuple(choices),
        pattern=item.get("pattern"),
        live=live,
        restart=tuple(part for part in read_by if part not in live),
        fixed=fixed,
    )


def _table_entry(table: Mapping[str, Said], name: str) -> Said | None:
    """A table's entry for a key, else for its section."""
    return table.get(name, table.get(name.partition(".")[0]))


def _schema_choices(schema: Mapping[str, Any], alternatives: int) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    return [True, False] if schema.get("type") == "boolean" and alternatives > 1 else []
