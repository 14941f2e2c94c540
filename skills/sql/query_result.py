"""Rows of a query as JSON, up to a size limit."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

_EXACT = 2**53  # beyond it readers of JSON lose the last digits of a whole number


@dataclass(slots=True)
class RowBuffer:
    """Rows as they come in, until there are enough."""

    columns: Sequence[str]  # their names
    rows_most: int
    bytes_most: int  # of JSON
    cut: bool = False
    _rows: list[list[Any]] = field(default_factory=list)
    _bytes: int = 0

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take rows, or note that there are more than fit."""
        for row in rows:
            values = [json_value(value) for value in row]
            size = len(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass")) + 2
            if len(self._rows) >= self.rows_most or self._bytes + size > self.bytes_most:
                self.cut = True
                return
            self._rows.append(values)
            self._bytes += size

    def given(self) -> dict[str, Any]:
        """{columns, rows}, and {cut} where there was more."""
        return {"columns": list(self.columns), "rows": self._rows} | ({"cut": True} if self.cut else {})


def json_value(value: Any) -> Any:
    """A value as JSON: dates in ISO 8601, bytes as `\\x…`, numbers that JSON has not as texts."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_EXACT <= value <= _EXACT else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            whole = value.is_finite() and value == value.to_integral_value()
            return json_value(int(value)) if whole and abs(value) <= _EXACT else str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes() | bytearray() | memoryview():
            return "\\x" + bytes(value).hex()
        case Mapping():
            return {str(key): json_value(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [json_value(inner) for inner in value]
        case _:
            return str(value)  # UUIDs, addresses, ranges and what else a driver knows: as the database writes it
