"""The hash of an entry of the audit trail, computed without Postgres: what checks a chain where no server is.

The definition is `audit_hash` of migrations/0001_ground.sql: SHA-256 of the UTF-8 text that Postgres gives a jsonb
array of the former hash, the number, the moment (seconds since 1970 with six decimals), who, what, to which object, how
it ended, and the details.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

_SHORT = 100  # digits; Python converts no more than some thousands to an int
_MOST_DIGITS = 150_000  # of Postgres' numeric, generously
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXTS = ("tenant", "actor", "action", "object", "outcome", "previous", "hash")


@dataclass(frozen=True, slots=True)
class ChainedEntry:
    """An entry of a tenant's trail with what its hash covers.

    Attributes:
        tenant: whose trail; not covered, but each tenant has a chain of its own.
        seq: from 1, without gaps.
        at: with a time zone, to the microsecond.
        detail: with numbers as `parse_json` gives them; None where it was too long to be sent, or lost a name by an
            erasure, after which the hash is of what stood there before.
        previous: the hash of the entry before, empty for the first.
        email: of the actor when it was sent, if it has one; not covered.
    """

    tenant: str
    seq: int
    at: datetime
    actor: str
    action: str
    object: str
    outcome: str
    detail: Mapping[str, Any] | None
    previous: str
    hash: str
    email: str | None = None

    @property
    def computed(self) -> str | None:
        """The hash that it should have; None where the details are missing."""
        if self.detail is None:
            return None
        moment = Decimal((self.at - _EPOCH) // timedelta(microseconds=1)).scaleb(-6)
        covered = [self.previous, self.seq, moment, self.actor, self.action, self.object, self.outcome, self.detail]
        return hashlib.sha256(jsonb_text(covered).encode()).hexdigest()

    @property
    def id(self) -> str:
        """The same however often it is sent: by it a collector drops what came twice."""
        return f"{self.tenant}:{self.seq}"

    def as_json(self) -> dict[str, Any]:
        """The fields by name; the moment in UTC."""
        return {
            "tenant": self.tenant,
            "seq": self.seq,
            "at": self.at.astimezone(UTC).isoformat(timespec="microseconds"),
            "actor": self.actor,
            "action": self.action,
            "object": self.object,
            "outcome": self.outcome,
            "detail": self.detail,
            "previous": self.previous,
            "hash": self.hash,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "ChainedEntry":
        """What `as_json` made, alone or as `unmapped` of an OCSF event. Raises ValueError where it is none."""
        if not isinstance(found, Mapping):
            raise ValueError("no entry of an audit trail: no JSON object")
        known = found.get("unmapped", found)
        try:
            moment = datetime.fromisoformat(known["at"])
            texts = {name: known[name] for name in _TEXTS}
            entry = cls(seq=known["seq"], at=moment, detail=known["detail"], **texts)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no entry of an audit trail: {error}") from error
        is_entry = type(entry.seq) is int and all(isinstance(text, str) for text in texts.values())
        if not is_entry or moment.tzinfo is None or not isinstance(entry.detail, dict | None):
            raise ValueError("no entry of an audit trail: a field has another type")
        return entry


def parse_json(text: str) -> Any:
    """JSON with every number as it was written: to Postgres 1.10 and 1.1 are two texts."""
    return json.loads(text, parse_float=_exact_number, parse_int=_exact_number, parse_constant=_refuse_constant)


def jsonb_text(value: Any) -> str:
    """The text that Postgres gives a jsonb value: keys by length and then by bytes, numbers without an exponent."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return "{" + ", ".join(f"{_quoted(key)}: {jsonb_text(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(jsonb_text, value)) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    number = value if isinstance(value, Decimal) else Decimal(repr(value))
    return format(abs(number) if number.is_zero() else number, "f")


def json_line(value: Any) -> str:
    """JSON in one line of ASCII, which no transport has a reason to change; keys in their order."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_plain(key)}:{json_line(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(json_line, value)) + "]"
    return _plain(value) if isinstance(value, str) else jsonb_text(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # escapes what Postgres' escape_json does, and as it does


def _plain(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f")


def _exact_number(text: str) -> int | Decimal:
    if len(text) <= _SHORT and text.lstrip("-").isdigit():
        return int(text)
    number = Decimal(text)
    if abs(number.adjusted()) > _MOST_DIGITS:
        raise ValueError("a number is larger than Postgres has any")  # written out, it would fill the memory
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
