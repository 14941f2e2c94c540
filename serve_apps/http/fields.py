"""The fields of requests: each says what it accepts, and nothing gets in that Postgres text cannot hold."""

from math import isfinite
from typing import Annotated, Any
from uuid import UUID

from fastapi import Header, Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from cluster.basics.storable import is_storable
from cluster.state.conversations import LONGEST_KEY
from configs.sections import ChunkStrategy

MOST_AGENT = 200
MOST_TAGS = 50
MOST_DEPTH = 64


def storable_text(text: str) -> str:
    """The text itself. Raises ValueError: it holds NUL or a lone surrogate."""
    if "\0" in text:
        raise ValueError("must not contain NUL characters")
    if not is_storable(text):
        raise ValueError("must be valid Unicode, without lone surrogates")
    return text


def split_comma_list(text: str) -> list[str]:
    """The parts of a comma-separated list, trimmed, each once and in order.

    Raises ValueError: there are too many, or one is too long.
    """
    parts = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if len(parts) > MOST_TAGS or any(len(part) > 200 for part in parts):
        raise ValueError(f"at most {MOST_TAGS} entries of at most 200 characters")
    return parts


def storable_json(value: Any) -> Any:
    """The value itself.

    Raises ValueError: a string in it cannot be stored, a number is not finite, or it is nested too deeply.
    """
    left: list[tuple[Any, int]] = [(value, 0)]
    while left:
        part, depth = left.pop()
        if depth > MOST_DEPTH:
            raise ValueError(f"nested deeper than {MOST_DEPTH}")
        if isinstance(part, str):
            storable_text(part)
        elif isinstance(part, float) and not isfinite(part):
            raise ValueError("must not contain NaN or infinite numbers")
        elif isinstance(part, dict):
            left += [(inner, depth + 1) for pair in part.items() for inner in pair]
        elif isinstance(part, list):
            left += [(inner, depth + 1) for inner in part]
    return value


Text = Annotated[str, AfterValidator(storable_text)]
ChunkStrategyField = Annotated[
    ChunkStrategy, BeforeValidator(lambda given: given.lower() if isinstance(given, str) else given)
]
AnyJson = Annotated[Any, AfterValidator(storable_json)]
JsonObject = Annotated[dict[str, Any], AfterValidator(storable_json)]
Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(storable_text)
]
Prose = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(storable_text)]
Question = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000), AfterValidator(storable_text)
]
LONGEST_EMAIL = 254
EMAIL_PATTERN = r"^[^@\s,]+@[^@\s,]+$"
Email = Annotated[
    str,
    StringConstraints(strip_whitespace=True, to_lower=True, max_length=LONGEST_EMAIL, pattern=EMAIL_PATTERN),
    AfterValidator(storable_text),
]
Password = Annotated[str, StringConstraints(min_length=1, max_length=1_000), AfterValidator(storable_text)]
DocumentKey = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
ChunkKey = DocumentKey

DocumentInPath = Annotated[DocumentKey, Path(description="32 hex digits.")]
PageInPath = Annotated[int, Path(ge=1, le=1_000_000, description="1-based.")]
AgentInQuery = Annotated[Text | None, Query(max_length=MOST_AGENT, description="An agent's UUID or its display name.")]
Skip = Annotated[int, Query(ge=0, le=1_000_000_000)]
Limit = Annotated[int, Query(ge=1, le=1000)]
IdempotencyKey = Annotated[
    Text | None,
    Header(alias="Idempotency-Key", min_length=1, max_length=200, description="The same key, the same job."),
]


class RequestBody(BaseModel):
    """Base of request bodies: unknown fields are refused.

    A tenant or workspace may be named, as older clients do; it is compared with the token, never believed, and not
    documented, because there is no use in sending it.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    tenant_id: SkipJsonSchema[UUID | None] = None
    workspace_id: SkipJsonSchema[UUID | None] = None


Key = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_KEY), AfterValidator(storable_text)
]


SessionInPath = Annotated[
    str, Path(max_length=LONGEST_KEY, description="A UUID, or your own name for it."), AfterValidator(storable_text)
]
