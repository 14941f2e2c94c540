"""The lock files in configs/locks as values: each pinned package with the files that pip may install for it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "configs" / "locks"
# `build` builds the project itself, `cuda` is what torch wants for NVIDIA's GPUs, `dev` comes on top of `runtime`.
Group = Literal["build", "runtime", "cuda", "dev"]
GROUPS: tuple[Group, ...] = get_args(Group)
HEAD = """# Written by `make lock` from pyproject.toml and configs/constraints.txt: do not edit.
# The files for Linux on x86-64 and ARM with CPython 3.11 and 3.12, in the order of their SHA-256; pip refuses others.
"""


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A wheel or an sdist, by name, with its SHA-256 in hexadecimal."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """A pinned package; any one of its files may be installed."""

    name: str
    version: str
    files: tuple[LockedFile, ...]

    @property
    def key(self) -> str:
        """The canonical name (PEP 503)."""
        return canonicalize_name(self.name)


def render_lock(packages: Iterable[LockedPackage]) -> str:
    """In the form of `pip install --require-hashes -r`, by name."""
    parts = [HEAD]
    for one in sorted(packages, key=lambda one: one.key):
        names = "".join(f"# {file.name}\n" for file in one.files)
        hashes = "".join(f" \\\n    --hash=sha256:{file.sha256}" for file in one.files)
        parts.append(f"{names}{one.name}=={one.version}{hashes}\n")
    return "\n".join(parts)


def parse_lock(text: str) -> list[LockedPackage]:
    """What `render_lock` wrote. Raises ValueError: a package without hashes, or without a name for each of them."""
    found = []
    for block in text.split("\n\n"):
        names = re.findall(r"^# (\S+\.(?:whl|tar\.gz|zip))$", block, re.MULTILINE)
        pin = re.search(r"^([A-Za-z0-9._-]+)==(\S+)", block, re.MULTILINE)
        hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})(?![0-9a-f])", block)
        if pin is None:
            continue
        if not hashes or len(names) != len(hashes):
            raise ValueError(f"{pin.group(1)}: {len(names)} files and {len(hashes)} hashes")
        files = tuple(LockedFile(name, digest) for name, digest in zip(names, hashes, strict=True))
        found.append(LockedPackage(pin.group(1), pin.group(2), files))
    return found


def locked_packages(groups: Sequence[Group] = GROUPS, folder: Path = FOLDER) -> list[LockedPackage]:
    """Of these groups, as they were committed."""
    return [one for group in groups for one in parse_lock((folder / f"{group}.txt").read_text(encoding="utf-8"))]


def pinned_versions(constraints: str) -> dict[str, str]:
    """Canonical name to version, of the text of configs/constraints.txt."""
    pins = (line.partition("==") for line in constraints.splitlines() if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name.strip()): version.strip() for name, _, version in pins}
