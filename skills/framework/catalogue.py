"""The tools that there are, by name; each name once."""

from collections.abc import Collection, Iterable, Iterator

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from cluster.basics.errors import Conflict, Invalid, NotFound
from cluster.models.messages import ToolSpec
from skills.framework.contract import Tool
from skills.framework.manifest import NAME

MOST_SOUND = 2_000  # specs that are remembered as looked at


class DuplicateTool(Conflict, ValueError):
    """There is a tool of this name already."""

    code = "duplicate_tool"


class ToolNotFound(NotFound):
    """There is no tool of this name."""

    code = "tool_not_found"


class ToolCatalog:
    """A registry of tools in the order in which they were added."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        """Add them all. Raises DuplicateTool, Invalid: as for `add`."""
        self._tools: dict[str, Tool] = {}
        # By name, what has been looked at; shared with the catalogues made from this one. A turn makes several, and
        # to check every schema anew took a quarter of its time.
        self._sound: dict[str, ToolSpec] = {}
        for tool in tools:
            self.add(tool)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def add(self, tool: Tool) -> None:
        """Take a tool in. Raises DuplicateTool: its name is taken; Invalid: models do not take its name or schema."""
        spec = tool.spec
        if spec.name in self._tools:
            raise DuplicateTool(spec.name)
        if self._sound.get(spec.name) != spec:
            check_spec(spec)
            if len(self._sound) >= MOST_SOUND:  # skills of all workspaces pass by here
                self._sound.clear()
            self._sound[spec.name] = spec
        self._tools[spec.name] = tool

    def get(self, name: str) -> Tool:
        """The tool of this name. Raises ToolNotFound: there is none; the detail names those that there are."""
        if name not in self._tools:
            known = ", ".join(self._tools) or "none"
            raise ToolNotFound(f"no tool is called {name!r}; there are: {known}")
        return self._tools[name]

    def specs(self) -> tuple[ToolSpec, ...]:
        """All of them as models are told."""
        return tuple(tool.spec for tool in self)

    def only(self, names: Collection[str]) -> "ToolCatalog":
        """The tools with these names, in this catalogue's order; unknown names are left out."""
        return self._made_of(tool for tool in self if tool.spec.name in names)

    def plus(self, *tools: Tool) -> "ToolCatalog":
        """These as well. Raises DuplicateTool: a name is taken."""
        return self._made_of([*self, *tools])

    def _made_of(self, tools: Iterable[Tool]) -> "ToolCatalog":
        made = ToolCatalog()
        made._sound = self._sound
        for tool in tools:
            made.add(tool)
        return made


def check_spec(spec: ToolSpec) -> None:
    """Check a tool's name and schema. Raises Invalid: they are not what every provider takes."""
    if not NAME.fullmatch(spec.name):
        raise Invalid(f"a tool's name has up to 64 letters, digits, _ and -, not {spec.name!r}")
    try:
        Draft202012Validator.check_schema(dict(spec.parameters))
    except SchemaError as error:
        raise Invalid(f"the schema of {spec.name} is not valid: {error.message}") from error
    if spec.parameters.get("type") != "object":
        raise Invalid(f"the schema of {spec.name} is not of type object")
