"""Checks before a playbook runs: files inside the folder, arguments as variables marked unsafe for templates."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from cluster.basics.errors import Invalid, NotFound, Permanent, Transient
from skills.framework.manifest import BadManifest, CredentialType, Manifest


class AnsibleMissing(Permanent):
    """Ansible is not installed."""

    code, status = "ansible_missing", 409
    fix = "Install the extra: pip install 'aos[ansible]'."


class AnsibleUnset(Permanent):
    """No folder of playbooks is named in the settings."""

    code, status = "ansible_not_configured", 409
    fix = "Set `skills.ansible_dir`."


class PlaybookNotFound(NotFound):
    """The folder of playbooks has no such file."""

    code = "ansible_not_found"
    fix = "Name a file below `skills.ansible_dir` by its relative path, without `..`; links may not lead out of it."


class PlaybookBroken(Permanent):
    """Ansible could not begin with the playbook."""

    code, status = "ansible_broken", 502
    fix = "Try it on this machine with ansible-playbook --syntax-check."


class PlaybookTimeout(Transient):
    """The playbook did not end in its time, and was killed."""

    code, status = "ansible_timeout", 504


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MOST_MESSAGE = 500  # characters of what a failed task says


class AnsibleOptions(BaseModel):
    """Options of a playbook skill: playbook, inventory and check mode."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    playbook: StrictStr = Field(min_length=1, max_length=1_000)  # relative to `skills.ansible_dir`
    # Relative to it too; without one it is this machine alone.
    inventory: StrictStr | None = Field(None, min_length=1, max_length=1_000)
    check: StrictBool = False  # nothing is changed; modules say what they would do (`--check`)


def check_playbook_skill(manifest: Manifest) -> None:
    """Nothing, where parameters and credential fit. Raises BadManifest: they do not."""
    if manifest.credential not in (None, CredentialType.SSH):
        raise BadManifest(f"{manifest.name}: skills of type ansible have `credential: ssh`, or none")
    for name in manifest.parameters.get("properties", {}):
        if not _NAME.fullmatch(name) or name.startswith("ansible_"):
            raise BadManifest(f"{manifest.name}: {name!r} is no name of a variable, or one that is Ansible's own")


def file_within(folder: Path | None, relative: str) -> Path:
    """The file of a relative path, links followed. Raises AnsibleUnset: no folder; PlaybookNotFound: none in there."""
    if folder is None:
        raise AnsibleUnset
    root, parts = folder.resolve(), Path(relative)
    found = (root / parts).resolve()
    if parts.is_absolute() or ".." in parts.parts or not found.is_relative_to(root) or not found.is_file():
        raise PlaybookNotFound(relative[:200])
    return found


def extra_variables(manifest: Manifest, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as extra variables, where every text is marked as one that is never a template.

    Without the mark `{{ lookup('pipe', …) }}` in an argument would run a command.

    Raises Invalid: an argument is no parameter, or a key in it means something to Ansible.
    """
    properties = manifest.parameters.get("properties", {})
    if unknown := set(arguments) - set(properties):
        raise Invalid(f"no parameters: {', '.join(sorted(unknown))}")
    values = {name: one["default"] for name, one in properties.items() if "default" in one} | dict(arguments)
    return {name: _mark_unsafe(value) for name, value in values.items()}


def _mark_unsafe(value: Any) -> Any:
    if isinstance(value, str):
        return {"__ansible_unsafe": value}
    if isinstance(value, list | tuple):
        return [_mark_unsafe(one) for one in value]
    if isinstance(value, Mapping):
        if odd := [key for key in value if key.startswith("__ansible") or "{" in key]:
            raise Invalid(f"{odd[0][:100]!r} cannot be a key")
        return {key: _mark_unsafe(one) for key, one in value.items()}
    return value
