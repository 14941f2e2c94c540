"""Erasures that were shipped: their signed receipts, and the files that went."""

from typing import Any

from cluster.state.backup.destination import DamagedBackup, Destination


def erasure_log(place: Destination) -> list[dict[str, Any]]:
    """Every erasure that was shipped. Raises DamagedBackup: one cannot be read, and what it erased would come back."""
    found = []
    for key in place.keys("erasures"):
        body = place.read_json(key)
        if not isinstance(body, dict) or not isinstance(body.get("receipt"), dict):
            raise DamagedBackup(f"{key} cannot be read", fix="Put it back: what it erased would be there again.")
        found.append(body)
    return found


def erased_files(place: Destination) -> list[str]:
    """Locations that erasures removed."""
    return [str(name) for body in erasure_log(place) for name in (body.get("files") or ())]
