"""Context of an operation: connection, arguments of the call, and the limit of lists."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cluster.basics.errors import Invalid

MOST = 200  # of a list, where the call names no limit
_NO_SEGMENT = re.compile(r"[/\\?#%\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class CloudCall:
    """One call of an operation."""

    connection: Any  # an `openstack.connection.Connection`
    arguments: Mapping[str, Any]  # valid against the skill's schema
    key: str  # the same at every repetition of this call
    most_bytes: int  # of a result

    def name(self, argument: str) -> str:
        """An argument that becomes a part of an address. Raises Invalid: it is missing, or would lead elsewhere."""
        return path_segment(self.arguments.get(argument), argument)

    def needed(self, argument: str) -> Any:
        """An argument that an action cannot do without. Raises Invalid: it is missing."""
        if (value := self.arguments.get(argument)) in (None, ""):
            raise Invalid(f"{argument} is missing")
        return value

    def find(self, service: Any, kind: str) -> Any:
        """The object of a service that the argument of its kind's name names."""
        return getattr(service, f"find_{kind}")(self.name(kind), ignore_missing=False)

    def delete(self, service: Any, kind: str) -> dict[str, Any]:
        """Delete the object, and say which that was."""
        found = self.find(service, kind)
        getattr(service, f"delete_{kind}")(found.id, ignore_missing=False)
        return {"deleted": kind, "id": found.id, "name": found.name}

    def given(self, *names: str) -> dict[str, Any]:
        """The named arguments that the call gave."""
        return {name: self.arguments[name] for name in names if self.arguments.get(name) is not None}

    def listed(self, what: str, found: Iterable[Any], shape: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Give {what: [...], count}, {cut: true} where there is more; no page of `found` is read that is not given."""
        most = self.limit
        rows: list[dict[str, Any]] = []
        left, cut = self.most_bytes * 9 // 10, False
        for one in islice(found, most + 1):
            row = shape(one)
            left -= len(json.dumps(row, ensure_ascii=False, default=str).encode()) + 2
            if len(rows) == most or left < 0:
                cut = True
                break
            rows.append(row)
        return {what: rows, "count": len(rows)} | ({"cut": True} if cut else {})

    @property
    def page(self) -> int:
        """Most entries of one request, so that a list shows whether there are more."""
        return min(self.limit + 1, 1_000)

    @property
    def limit(self) -> int:
        """Most entries of a list."""
        return int(self.arguments.get("limit", MOST))


def path_segment(value: Any, argument: str) -> str:
    """A name or an id as one segment of a path; the SDK does not quote it. Raises Invalid: it would lead elsewhere."""
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{argument} is missing")
    if _NO_SEGMENT.search(value) or value.strip() in (".", ".."):
        raise Invalid(f"{argument} has characters that no address has", fix="Give the id in the place of the name.")
    return value


def pick_fields(resource: Any, *names: str) -> dict[str, Any]:
    """Fields of an object of the SDK; those without a value are left out."""
    found = ((name, getattr(resource, name, None)) for name in names)
    return {name: value for name, value in found if value is not None}
