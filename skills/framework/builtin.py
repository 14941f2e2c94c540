"""The skills that ship: every SKILL.md of the package, and the way from a manifest to a tool."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import cast

from cluster.basics.errors import Conflict
from skills.framework.catalogue import DuplicateTool, ToolNotFound
from skills.framework.contract import Tool
from skills.framework.dependencies import Build, SkillDependencies, SkillDisabled
from skills.framework.manifest import ALIASES, BadManifest, Kind, Manifest, read_manifest

MANIFEST, TOOL = "SKILL.md", "tool.py"
CODE = "run.py"  # of a python skill that runs in the sandbox, as those do that are written on the spot

# In every turn, whoever the agent is; all other skills have to be attached to it (B-11).
_SEARCHES = ("search_knowledge", "semantic_search", "search_graph", "query_tables")
BASE = (*_SEARCHES, "calculator", "get_time", "http_get", "delegate", "request_user_input")


class NotCallable(Conflict):
    """This skill is part of a prompt, or belongs to a turn; it is no tool of its own."""

    code = "not_callable"


def shipped_skills() -> tuple[Manifest, ...]:
    """All of them, by category and name; files are read once.

    Raises:
        BadManifest: a SKILL.md of ours is wrong; its path is named.
        DuplicateTool: two of ours have one name.
    """
    found = (manifest for manifest, _ in _load_shipped().values())
    return tuple(sorted(found, key=lambda one: (one.category, one.name)))


def shipped_names() -> frozenset[str]:
    """Reserved names: those of the skills that ship."""
    return frozenset(_load_shipped())


def shipped_skill(name: str) -> Manifest:
    """The shipped skill of this name. Raises ToolNotFound: none is called so."""
    if name not in _load_shipped():
        raise ToolNotFound(f"no skill that ships is called {name!r}")
    return _load_shipped()[name][0]


def is_shipped(manifest: Manifest) -> bool:
    """True where the skill's behaviour and destination are those that ship; nobody of a workspace wrote them."""
    ours, _ = _load_shipped().get(manifest.name, (None, None))
    return ours is not None and _behaviour_key(ours) == _behaviour_key(manifest)


def build_tool(manifest: Manifest, ground: SkillDependencies) -> Tool:
    """The tool that carries a skill out: by the `tool.py` beside its SKILL.md, else by that of its kind.

    Raises:
        NotCallable: it is internal, or bound to a turn as delegation is.
        SkillDisabled: its kind is switched off, or it by its name.
        BadManifest: its options are not what its kind wants, or nothing here carries its kind out.
    """
    if manifest.kind in (Kind.INTERNAL, Kind.DELEGATE):
        raise NotCallable(f"{manifest.name} is of type {manifest.kind}")
    off = ground.settings.off
    if manifest.name in off:
        raise SkillDisabled(f"{manifest.name} is off")
    # Some skills that ship are called as their kind is, in another spelling: then the skill alone is meant.
    if manifest.kind in {ALIASES.get(name, name) for name in off if name not in shipped_names()}:
        raise SkillDisabled(f"{manifest.name}: skills of type {manifest.kind} are off")
    return _find_builder(manifest)(manifest, ground)


def _behaviour_key(manifest: Manifest) -> tuple[object, ...]:
    return manifest.kind, manifest.credential, dict(manifest.options), manifest.code


def _find_builder(manifest: Manifest) -> Build:
    ships, own = _load_shipped().get(manifest.name, (None, None))
    same = ships is not None and (ships.kind, ships.code) == (manifest.kind, manifest.code)
    module = own if same and own is not None else f"skills.{manifest.kind}.tool"
    try:
        return cast(Build, import_module(module).build)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.rpartition(".")[0]):
            raise  # something that the kind itself stands on
        raise BadManifest(f"{manifest.name}: nothing here carries out skills of type {manifest.kind}") from error


@cache
def _load_shipped() -> Mapping[str, tuple[Manifest, str | None]]:
    """By name: a skill, and the module beside it that carries it out, if there is one."""
    found: dict[str, tuple[Manifest, str | None]] = {}
    for folder, package in _skill_folders(files("skills"), "skills"):
        try:
            manifest = read_manifest((folder / MANIFEST).read_text(encoding="utf-8"))
            if (folder / CODE).is_file():
                manifest = replace(manifest, code=(folder / CODE).read_text(encoding="utf-8"))
        except BadManifest as error:
            raise BadManifest(f"{package}: {error.detail}", fix=error.hint) from error
        if manifest.name in found:
            raise DuplicateTool(f"{manifest.name}: {package} is the second one")
        own = f"{package}.tool" if (folder / TOOL).is_file() else None
        found[manifest.name] = (manifest, own)
    return MappingProxyType(found)


def _skill_folders(folder: Traversable, package: str) -> Iterator[tuple[Traversable, str]]:
    """Every folder that has a SKILL.md, with its name as a module."""
    if (folder / MANIFEST).is_file():
        yield folder, package
    for inner in sorted(folder.iterdir(), key=lambda one: one.name):
        if inner.is_dir() and inner.name.isidentifier() and not inner.name.startswith("__"):
            yield from _skill_folders(inner, f"{package}.{inner.name}")
