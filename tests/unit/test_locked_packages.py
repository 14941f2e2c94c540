"""configs/locks: each pinned package with the SHA-256 of every file that may be installed for it."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cluster.console.supply.lock import group_of, grouped_packages, suitable_files
from cluster.console.supply.lock_files import (
    FOLDER,
    GROUPS,
    ROOT,
    LockedFile,
    LockedPackage,
    locked_packages,
    parse_lock,
    pinned_versions,
    render_lock,
)

DIGEST = "ab" * 32


def entry(name: str, digest: str = DIGEST) -> dict[str, object]:
    return {"url": f"https://index.example/packages/{name}", "hashes": {"sha256": digest}}


def test_no_pinned_package_lacks_a_hash() -> None:
    """`make lock` writes them anew where this fails."""
    pins = pinned_versions((ROOT / "configs" / "constraints.txt").read_text(encoding="utf-8"))
    locked = locked_packages()
    assert {one.key: one.version for one in locked} == pins
    assert len(locked) == len(pins), "each stands in one file alone"
    assert all(one.files for one in locked)


def test_what_the_project_asks_for_itself_is_locked_where_it_belongs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = {canonicalize_name(Requirement(text).name) for text in project["project"]["dependencies"]}
    tools = {canonicalize_name(Requirement(text).name) for text in project["project"]["optional-dependencies"]["dev"]}
    runtime = {one.key for one in locked_packages(("runtime",))}
    assert asked - runtime == set()
    assert tools - {one.key for one in locked_packages()} == set()
    assert "pytest" not in runtime
    built_with = {canonicalize_name(Requirement(text).name) for text in project["build-system"]["requires"]}
    assert built_with - {one.key for one in locked_packages(("build",))} == set()


def test_the_product_is_installed_from_wheels_alone() -> None:
    """An sdist runs its own code while it is installed."""
    for one in locked_packages(("build", "runtime", "cuda")):
        assert all(file.name.endswith(".whl") for file in one.files), one.name


def test_locks_name_no_registry() -> None:
    for group in GROUPS:
        assert not re.search(r"://|--(extra-)?index-url|--find-links", (FOLDER / f"{group}.txt").read_text("utf-8"))


def test_a_lock_is_read_as_it_was_written() -> None:
    first = LockedPackage("Zed.one", "2", (LockedFile("zed_one-2-py3-none-any.whl", DIGEST),))
    second = LockedPackage("a", "1", (LockedFile("a-1.whl", "cd" * 32), LockedFile("a-1.tar.gz", "ef" * 32)))
    assert parse_lock(render_lock([first, second])) == [second, first]


@pytest.mark.parametrize("hashes", ["", f" --hash=sha256:{DIGEST[:-1]}"])
def test_a_package_without_a_whole_hash_is_refused(hashes: str) -> None:
    with pytest.raises(ValueError, match="a: 1 files and 0 hashes"):
        parse_lock(f"# a-1-py3-none-any.whl\na==1{hashes}\n")


def test_files_for_other_systems_and_pythons_are_left_out() -> None:
    wheels = [
        "a-1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "a-1-cp311-cp311-win_amd64.whl",
        "a-1-cp311-cp311-macosx_14_0_arm64.whl",
        "a-1-cp310-cp310-manylinux_2_28_x86_64.whl",
        "a-1-cp314-cp314-manylinux_2_28_x86_64.whl",
        "a-1-cp311-cp311-musllinux_1_2_x86_64.whl",
        "a-1-cp39-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
    ]
    found = suitable_files({"wheels": [entry(name) for name in wheels]})
    assert [file.name for file in found] == [wheels[0], wheels[6]]


def test_the_sdist_is_locked_only_where_a_machine_has_no_wheel() -> None:
    pure, sdist = entry("a-1-py3-none-any.whl"), entry("a-1.tar.gz")
    assert [file.name for file in suitable_files({"wheels": [pure], "sdist": sdist})] == ["a-1-py3-none-any.whl"]
    assert [file.name for file in suitable_files({"sdist": sdist})] == ["a-1.tar.gz"]


def test_a_pin_without_any_file_that_runs_here_is_said() -> None:
    with pytest.raises(ValueError, match="a==1: no file"):
        grouped_packages(
            {"packages": [{"name": "a", "version": "1", "wheels": [entry("a-1-cp38-cp38-win32.whl")]}]}, {"a"}
        )


def test_groups_by_name() -> None:
    runtime = {"torch", "nvidia-nvtx", "packaging"}
    groups = {"nvidia-nvtx": "cuda", "torch": "runtime", "hatchling": "build", "packaging": "runtime", "pytest": "dev"}
    assert {name: group_of(name, runtime) for name in groups} == groups
