"""`make lock`: the SHA-256 of every file that pip may install for the pinned packages, into configs/locks."""

import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from cluster.console.supply.lock_files import (
    FOLDER,
    GROUPS,
    ROOT,
    Group,
    LockedFile,
    LockedPackage,
    pinned_versions,
    render_lock,
)

CONSTRAINTS = ROOT / "configs" / "constraints.txt"
PYPROJECT = ROOT / "pyproject.toml"
LOWEST = "3.11.5"  # of Python: what the pinned packages ask for
VERSIONS = ((3, 11), (3, 12))
MACHINES = ("x86_64", "aarch64")
GLIBC = 39  # 2.39; wheels for a newer one are not wanted
CUDA = ("nvidia-", "cuda-", "triton")  # beginnings of names; on PyPI, torch for Linux asks for them all
# What builds the project where nothing may be fetched, beside what the product needs itself; `editables` for `-e`.
BUILD = ("hatchling", "editables", "pathspec", "pluggy", "tomlkit", "trove-classifiers", "packaging")


def wanted_tags() -> dict[tuple[tuple[int, int], str], frozenset[Tag]]:
    """The tags of wheels that run, for each target: Python's version and machine."""
    return {
        (version, machine): frozenset([*cpython_tags(version, platforms=names), *compatible_tags(version, None, names)])
        for version in VERSIONS
        for machine in MACHINES
        for names in [_platform_names(machine)]
    }


def suitable_files(package: Mapping[str, Any]) -> tuple[LockedFile, ...]:
    """Of an entry of a pylock.toml (PEP 751): wheels for a target, and the sdist where a target has no wheel."""
    targets, lacking = wanted_tags(), set[object](wanted_tags())
    found = []
    for wheel in package.get("wheels", ()):
        file = _locked_file(wheel)
        fits = {target for target, tags in targets.items() if parse_wheel_filename(file.name)[3] & tags}
        if fits:
            found.append(file)
            lacking -= fits
    if lacking and "sdist" in package:
        found.append(_locked_file(package["sdist"]))
    return tuple(sorted(found, key=lambda file: file.name))


def group_of(name: str, runtime: Iterable[str]) -> Group:
    """Where a package belongs, by its canonical name; `runtime`: the names of all that the product needs."""
    if name in runtime:
        return "cuda" if name.startswith(CUDA) else "runtime"
    return "build" if name in BUILD else "dev"


def grouped_packages(pylock: Mapping[str, Any], runtime: set[str]) -> dict[Group, list[LockedPackage]]:
    """All packages of a pylock.toml by group. Raises ValueError: one has no file that runs here."""
    groups: dict[Group, list[LockedPackage]] = {group: [] for group in GROUPS}
    for package in pylock["packages"]:
        files = suitable_files(package)
        if not files:
            raise ValueError(f"{package['name']}=={package['version']}: no file for Linux, CPython 3.11 or 3.12")
        groups[group_of(canonicalize_name(package["name"]), runtime)].append(
            LockedPackage(package["name"], package["version"], files)
        )
    return groups


def main() -> int:
    """Ask the index for hashes and write the files; 1 where uv is missing or a pin cannot be had."""
    if find_spec("uv") is None:
        print("uv is missing: run `make install` first", file=sys.stderr)
        return 1
    pins = pinned_versions(CONSTRAINTS.read_text(encoding="utf-8"))
    with TemporaryDirectory() as place:
        try:
            runtime = _runtime_names(Path(place))
            pylock = _hashed_pins(Path(place), pins)
        except subprocess.CalledProcessError as error:
            print(error.stderr, file=sys.stderr)
            return 1
    lacking = sorted(runtime - set(pins))
    if lacking:
        print(f"not in {CONSTRAINTS.relative_to(ROOT)}: {', '.join(lacking)}", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    for group, packages in grouped_packages(pylock, runtime).items():
        (FOLDER / f"{group}.txt").write_text(render_lock(packages), encoding="utf-8")
        print(f"{len(packages)} packages in {(FOLDER / group).relative_to(ROOT)}.txt")
    return 0


def _runtime_names(place: Path) -> set[str]:
    out = place / "runtime.txt"
    _run_uv([str(PYPROJECT), "-c", str(CONSTRAINTS), "--python-platform", "x86_64-manylinux_2_28", "-o", str(out)])
    lines = out.read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(Requirement(line).name) for line in lines if line and not line.startswith("#")}


def _hashed_pins(place: Path, pins: Mapping[str, str]) -> dict[str, Any]:
    asked, out = place / "pins.in", place / "pylock.toml"
    asked.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()), encoding="utf-8")
    _run_uv([str(asked), "--no-deps", "--universal", "--format", "pylock.toml", "-o", str(out)])
    return tomllib.loads(out.read_text(encoding="utf-8"))


def _run_uv(arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-annotate", "--no-header"]
    subprocess.run([*command, "--python-version", LOWEST, *arguments], check=True, capture_output=True, text=True)


def _locked_file(entry: Mapping[str, Any]) -> LockedFile:
    name = entry.get("name") or unquote(str(entry["url"]).rpartition("/")[2])
    return LockedFile(name, entry["hashes"]["sha256"])


def _platform_names(machine: str) -> list[str]:
    legacy = [f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}", f"linux_{machine}"]
    return [*(f"manylinux_2_{minor}_{machine}" for minor in range(GLIBC, 4, -1)), *legacy]


if __name__ == "__main__":
    sys.exit(main())
