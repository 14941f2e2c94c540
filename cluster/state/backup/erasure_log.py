"""Erasures that were shipped: their signed receipts, and the files that went."""

from typing import Any

from cluster.state.backup.destination import Destination


def erasure_log(place: Destination) -> list[dict[str, Any]]:
    """Every erasure that was shipped."""
    keys = sorted(key for key, _ in place.side.objects() if key.startswith("erasures/"))
    return [body for key in keys if isinstance(body := place.read_json(key), dict)]


def erased_files(place: Destination) -> list[str]:
    """Locations that erasures removed."""
    return [str(name) for body in erasure_log(place) for name in (body.get("files") or ())]
