"""A skill as a turn keeps it, and the fingerprint of all that it says and does."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cluster.state.canonical_json import json_digest, normalize_json
from skills.framework.builtin import shipped_names
from skills.framework.manifest import Manifest, as_json, manifest_of
from skills.framework.schemas import without_expressions


def skill_fingerprint(manifest: Manifest) -> str:
    """The sha256 of all that a skill says and does, whatever its version."""
    return json_digest([as_json(replace(manifest, version=1)), manifest.text, manifest.code])


def freeze_skill(manifest: Manifest) -> dict[str, Any]:
    """A skill as a turn keeps it: what is changed later does not change the turn."""
    frozen: dict[str, Any] = normalize_json({"front": as_json(manifest), "text": manifest.text, "code": manifest.code})
    return frozen


def thaw_skill(frozen: Mapping[str, Any]) -> Manifest:
    """The inverse. Raises BadManifest: it was frozen by a version of this program that described skills otherwise."""
    return plain_manifest(manifest_of(frozen["front"], text=frozen["text"], code=frozen["code"]))


def plain_manifest(manifest: Manifest) -> Manifest:
    """Without regular expressions, which versions that are older than their refusal may have."""
    if manifest.name in shipped_names():
        return manifest
    return replace(manifest, parameters=without_expressions(manifest.parameters))
