"""A skill as a turn keeps it, and the fingerprint of all that it says and does."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cluster.state.canonical_json import digest, normal
from skills.framework.builtin import names
from skills.framework.manifest import Manifest, as_json, manifest_of
from skills.framework.schemas import without_expressions


def fingerprint(manifest: Manifest) -> str:
    """The sha256 of all that a skill says and does, whatever its version."""
    return digest([as_json(replace(manifest, version=1)), manifest.text, manifest.code])


def freeze(manifest: Manifest) -> dict[str, Any]:
    """A skill as a turn keeps it: what is changed later does not change the turn."""
    frozen: dict[str, Any] = normal({"front": as_json(manifest), "text": manifest.text, "code": manifest.code})
    return frozen


def thaw(frozen: Mapping[str, Any]) -> Manifest:
    """The inverse.

    Raises:
        BadManifest: it was frozen by a version of this program that described skills otherwise.
    """
    return plain(manifest_of(frozen["front"], text=frozen["text"], code=frozen["code"]))


def plain(manifest: Manifest) -> Manifest:
    """Without regular expressions, which versions that are older than their refusal may have."""
    if manifest.name in names():
        return manifest
    return replace(manifest, parameters=without_expressions(manifest.parameters))
