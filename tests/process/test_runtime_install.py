"""What `make demo` and `make up` install: all that the product imports, no tool of tests; and its notices."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cluster.console.notices import (
    FILE,
    ROOT,
    collect_libraries,
    collect_notices,
    direct_requirements,
    render_notices,
    required_distributions,
)
from cluster.console.supply.lock_files import locked_packages

OURS = ("cluster", "configs", "pipelines", "serve_apps", "skills")
# Of extras, and asked for before they are used: Ansible's own process, vLLM's deployment.
EXTRAS = {"ansible_runner", "vllm"}


@pytest.fixture(scope="module")
def runtime() -> set[str]:
    return set(required_distributions(direct_requirements()))


def imported() -> dict[str, Path]:
    """Top-level modules that the product's code imports, each with a file that does."""
    found: dict[str, Path] = {}
    for path in (path for name in OURS for path in (ROOT / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.append(node.module)
            found |= {name.partition(".")[0]: path for name in names}
    return {name: path for name, path in found.items() if name not in {*OURS, *sys.stdlib_module_names}}


def test_what_the_product_imports_is_installed_without_the_tools_of_tests(runtime: set[str]) -> None:
    """A package that only came along with the tests would be missing on the first machine without them."""
    providers = packages_distributions()
    missing = {
        name: str(path.relative_to(ROOT))
        for name, path in imported().items()
        if name not in EXTRAS and not {canonicalize_name(one) for one in providers.get(name, ())} & runtime
    }
    assert missing == {}


def test_the_torch_that_readme_names_for_machines_without_a_gpu_is_the_one_that_is_pinned() -> None:
    """pip leaves it alone then: a version with a local part (`+cpu`) satisfies a pin without one (PEP 440)."""
    told = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    pins = (ROOT / "configs" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [one for one in pins if one.startswith(("torch==", "torchvision=="))]
    command = f".venv/bin/pip install {' '.join(found)} --index-url https://download.pytorch.org/whl/cpu"
    assert len(found) == 2 and command in told
    for pin in found:
        requirement = Requirement(pin)
        assert requirement.specifier.contains(f"{pin.rpartition('=')[2]}+cpu")
    assert "--upgrade" not in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_no_tool_of_tests_and_no_ansible_comes_with_the_product(runtime: set[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tools = {canonicalize_name(Requirement(text).name) for text in project["optional-dependencies"]["dev"]}
    assert {"ansible-core", "ansible-runner", "pytest"} <= tools
    shared = {"llm", "rapidfuzz"}  # may come along with others; nothing of ours asks for them
    assert (tools & runtime) - shared == set()


def test_every_runtime_target_of_make_installs_the_runtime_only() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "up", "doctor", "packs"):
        assert f"\n{target}: install-runtime ##" in text
    before_dev = text.partition("$(STAMP): $(RUNTIME)")[0]
    assert "-r $(LOCKS)/runtime.txt" in before_dev and "-r $(LOCKS)/dev.txt" not in before_dev


def test_make_installs_nothing_but_the_project_itself_without_a_hash() -> None:
    """Nothing is resolved anew (`--no-deps`), and nothing is built with tools that pip fetches beside the lock."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--no-deps --no-build-isolation" in text and "HASHED := $(PIP) --require-hashes" in text
    installs = [line for line in text.splitlines() if "pip install" in line or line.strip().startswith("$(PIP)")]
    told = [line for line in installs if "PIP :=" not in line]
    assert told == ["\t$(PIP) -e ."]
    assert text.count("$(HASHED) -r") == 2


def test_the_locked_runtime_is_what_is_needed_here(runtime: set[str]) -> None:
    locked = {one.key for one in locked_packages(("runtime", "cuda"))}
    assert runtime - locked == set()


def test_the_notices_name_every_package_with_version_and_licence(runtime: set[str]) -> None:
    """`make notices` writes them anew where this fails."""
    found = collect_notices()
    assert {canonicalize_name(one.name) for one in found} == runtime
    assert all(one.licence and one.url.startswith("http") for one in found)
    text = FILE.read_text(encoding="utf-8")
    lacking = [one.name for one in found if f"| {one.name} | {one.version} |" not in text]
    assert lacking == []
    assert render_notices(found, collect_libraries()).count("\n| ") == text.count("\n| ")
