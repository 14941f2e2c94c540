"""Parsing and checking of a SKILL.md: front matter with a schema, and a text for people and models."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError, field_validator

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role
from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider takes as the name of a function
MOST_CHARACTERS = 200_000  # of a SKILL.md
MOST_FRONT = 50_000  # of its front matter
MOST_DEPTH = 32
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)(.*)\Z", re.DOTALL)


class BadManifest(Invalid):
    """A skill is not described as skills are."""

    code = "bad_manifest"


class Kind(StrEnum):
    """Kinds of skills, by their executor (one canonical list, every other name is an alias)."""

    INTERNAL = "internal"  # its text is part of the prompt; it is never called
    SSH = "ssh"
    HTTP = "http"
    GRAPHQL = "graphql"
    SQL = "sql"
    PYTHON = "python"
    SHELL = "shell"
    ANSIBLE = "ansible"
    DOCKER = "docker"
    SCRAPE = "scrape"
    HUGGINGFACE = "huggingface"
    OPENSTACK = "openstack"
    KNOWLEDGE = "knowledge"
    DELEGATE = "delegate"
    MCP = "mcp"


ALIASES: Mapping[str, Kind] = MappingProxyType(
    {
        "python_inline": Kind.PYTHON,
        "http_call": Kind.HTTP,
        "rest": Kind.HTTP,
        "shell_exec": Kind.SHELL,
        "ssh_command": Kind.SSH,
        "sql_query": Kind.SQL,
        "scrapling": Kind.SCRAPE,
        "agent_delegation": Kind.DELEGATE,
    }
)


class Risk(StrEnum):
    """Side effects of a call on the world outside."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"  # what is gone does not come back


class CredentialType(StrEnum):
    """The sorts of secrets."""

    SSH = "ssh"  # username, password or private_key, passphrase; host, port, known_hosts
    HTTP_BASIC = "http_basic"  # username, password
    BEARER_TOKEN = "bearer_token"  # token
    DB_DSN = "db_dsn"  # dsn
    API_KEY = "api_key"  # key, and what else the service wants
    CUSTOM = "custom"  # anything
    OAUTH = "oauth"  # a client of an authorization server; the tokens are those of whoever calls


@dataclass(frozen=True, slots=True)
class Manifest:
    """A skill as it is described."""

    name: str  # as models call it
    description: str  # what models and people are told, one sentence or two
    kind: Kind = Kind.INTERNAL  # what carries it out
    # JSON Schema of the arguments, of type object.
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    permissions: tuple[Role, ...] = tuple(Role)  # roles that may use it
    risk: Risk = Risk.READ  # what a call may do
    keyed: bool = False  # a repetition with the same key is harmless (the service takes idempotency keys)
    seconds: float = 30.0  # a call may take so long
    category: str = ""  # for the catalogue, as `Infrastructure/Linux`
    credential: CredentialType | None = None  # what it needs to be let in; None for nothing
    # What its kind wants to know: a command, an address, an operation. Never secrets.
    options: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""  # what follows the front matter; the instructions of an internal skill
    code: str = ""  # Python of a `python` skill that was written on the spot
    version: int = 1  # 1 for those that are shipped

    @property
    def spec(self) -> ToolSpec:
        """Name, description and schema for models."""
        return ToolSpec(self.name, self.description, self.parameters)

    @property
    def defaults(self) -> dict[str, Any]:
        """The values that the schema names for arguments that a call leaves out."""
        known = self.parameters.get("properties", {})
        return {name: one["default"] for name, one in known.items() if isinstance(one, Mapping) and "default" in one}

    @property
    def effect(self) -> CallEffect:
        """Side effects of a call, for the tool loop."""
        if self.risk is Risk.READ:
            return CallEffect.READ
        return CallEffect.KEYED if self.keyed else CallEffect.WRITE


class _Front(BaseModel):
    """The front matter; what nobody knows is refused, or a typing error would weaken a fence in silence."""

    model_config = ConfigDict(extra="forbid")
    name: StrictStr = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: StrictStr = Field(min_length=1, max_length=1_000)
    type: Kind = Kind.INTERNAL
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    permissions: list[Role] = list(Role)
    risk: Risk = Risk.READ
    keyed: StrictBool = False
    timeout: float = Field(30.0, gt=0, le=3_600)
    category: StrictStr = Field("", max_length=100)
    credential: CredentialType | None = None
    options: dict[str, Any] = {}
    version: StrictInt = Field(1, ge=1)

    @field_validator("type", mode="before")
    @classmethod
    def _canonical_kind(cls, given: Any) -> Any:
        return ALIASES.get(given, given) if isinstance(given, str) else given


def read_manifest(text: str) -> Manifest:
    """The skill that a SKILL.md describes. Only `name` and `description` are needed: without a type it is internal.

    Raises BadManifest: no front matter, not YAML, or a key that is unknown, missing or of another form; each is named.
    """
    if len(text) > MOST_CHARACTERS:
        raise BadManifest(f"SKILL.md has {len(text):,} characters; {MOST_CHARACTERS:,} are read")
    parts = _FRONT.match(text)
    if parts is None:
        raise BadManifest("SKILL.md does not begin with front matter", fix="Begin with ---, name, description, ---.")
    if len(parts[1]) > MOST_FRONT:
        raise BadManifest(f"the front matter has {len(parts[1]):,} characters; {MOST_FRONT:,} are read")
    try:
        given = yaml.load(parts[1], _Once)
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError, TypeError) as error:
        raise BadManifest(f"the front matter is not YAML: {str(error)[:300]}") from None
    if (odd := _not_json(given)) is not None:
        raise BadManifest(f"the front matter holds {odd}, which JSON cannot say")
    return manifest_of(given, text=parts[2].strip())


def manifest_of(given: Any, *, text: str = "", code: str = "") -> Manifest:
    """The skill that parsed front matter (or a request's body) describes. Raises BadManifest: it has another form."""
    try:
        front = _Front.model_validate(given)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc'])) or 'front matter'}: {one['msg']}" for one in error.errors())
        raise BadManifest("; ".join(problems)[:1_000]) from None
    values = dict(front) | {"permissions": tuple(front.permissions), "text": text, "code": code}
    return Manifest(kind=values.pop("type"), seconds=values.pop("timeout"), **values)


Options = TypeVar("Options", bound=BaseModel)


def options_of(manifest: Manifest, shape: type[Options]) -> Options:
    """The manifest's options as its kind wants them.

    Raises BadManifest: they have another form; each place is named.
    """
    try:
        return shape.model_validate(dict(manifest.options))
    except ValidationError as error:
        problems = (f"options.{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise BadManifest(f"{manifest.name}: {'; '.join(problems)}"[:1_000]) from None


def as_json(manifest: Manifest) -> dict[str, Any]:
    """Its front matter, as `manifest_of` reads it."""
    return {
        "name": manifest.name,
        "description": manifest.description,
        "type": str(manifest.kind),
        "parameters": dict(manifest.parameters),
        "permissions": [str(role) for role in manifest.permissions],
        "risk": str(manifest.risk),
        "keyed": manifest.keyed,
        "timeout": manifest.seconds,
        "category": manifest.category,
        "credential": None if manifest.credential is None else str(manifest.credential),
        "options": dict(manifest.options),
        "version": manifest.version,
    }


class _Once(yaml.SafeLoader):
    """A key that is there twice is an error: of two risks, the one that is not read would be the true one.

    So is a tag: what a text is called, `!!bool` or `!!int`, it need not be.
    """

    deep = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """As the base does, without anchors and aliases, and so many levels deep and no deeper."""
        self.deep += 1
        if self.deep > MOST_DEPTH:
            raise yaml.YAMLError(f"more than {MOST_DEPTH} levels")
        event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it out
        if self.check_event(yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.YAMLError("anchors and aliases are not read: a few lines of them unfold into gigabytes")
        if getattr(event, "tag", None) is not None:
            raise yaml.YAMLError("tags such as !!bool are not read: write the value plainly")
        made = super().compose_node(parent, index)
        self.deep -= 1
        return made

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """As the base does, where every key is a text that stands once."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
            raise yaml.YAMLError(f"a key is no text, or there twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def _not_json(value: Any) -> str | None:
    """The first thing in parsed YAML that is not plain JSON, or that a database would not take."""
    left: list[tuple[Any, int]] = [(value, 0)]
    while left:
        part, depth = left.pop()
        if depth > MOST_DEPTH:
            return f"more than {MOST_DEPTH} levels"
        if isinstance(part, dict):
            left += [(inner, depth + 1) for pair in part.items() for inner in pair]
        elif isinstance(part, list):
            left += [(inner, depth + 1) for inner in part]
        elif isinstance(part, str):
            if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in part):
                return "a text with NUL or half a character"
        elif isinstance(part, float):
            if not math.isfinite(part):
                return str(part)
        elif isinstance(part, int):
            if abs(part) >= 2**63:
                return "a number of more than 64 bits"
        elif part is not None:
            return f"a {type(part).__name__}"
    return None
