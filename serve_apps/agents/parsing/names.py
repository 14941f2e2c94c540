"""Resolver of written tool names to offered tools."""

import re
from collections.abc import Sequence

from cluster.models.messages import ToolSpec

# What models and their servers put around names: `functions.f:0`, `default_api.f`, `multi_tool_use.f`.
_BEFORE = re.compile(r"^(?:functions?|tools?|default_api|api|multi_tool_use|call)\s*[.:/]\s*", re.IGNORECASE)
_AFTER = re.compile(r"(?:\s*:\s*\d{1,4}|\s*\(\s*\))\s*$")
_AROUND = " \t\r\n`*\"'“”‘’<>[]{}:;,."
_FINAL = frozenset({"finalanswer", "finish", "finalresponse"})
_LONGEST = 200


class ToolNames:
    """The offered tools by name; spelling counts only where two names would be the same without it."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        """Of two tools with one name the first counts."""
        self._specs: dict[str, ToolSpec] = {}
        self._squeezed: dict[str, str | None] = {}
        for tool in tools:
            if tool.name in self._specs:
                continue
            self._specs[tool.name] = tool
            key = squeeze_name(tool.name)
            self._squeezed[key] = None if key in self._squeezed else tool.name

    def resolve(self, written: str) -> str | None:
        """The one offered name that `written` means in another case, spacing or punctuation, or None."""
        if len(written) > _LONGEST:
            return None
        for name in (written, written.strip(_AROUND)):
            if name in self._specs:
                return name
        bare = _AFTER.sub("", written.strip(_AROUND)).strip(_AROUND)
        for name in (bare, _BEFORE.sub("", bare)):
            found = self._specs.get(name)
            if found is not None:
                return found.name
            key = squeeze_name(name)
            if key and self._squeezed.get(key):
                return self._squeezed[key]
        return None

    def is_final(self, written: str) -> bool:
        """True if it names the final answer: `Finish`, `Final Answer`, unless a tool is named so."""
        return len(written) <= _LONGEST and squeeze_name(written) in _FINAL and self.resolve(written) is None

    def spec(self, name: str) -> ToolSpec:
        """The tool of an offered name."""
        return self._specs[name]

    def properties(self, name: str) -> list[str]:
        """Names of its parameters, in the schema's order."""
        properties = self._specs[name].parameters.get("properties")
        return list(properties) if isinstance(properties, dict) else []

    def required(self, name: str) -> list[str]:
        """Names of parameters that it cannot do without."""
        required = self._specs[name].parameters.get("required")
        return [one for one in required if isinstance(one, str)] if isinstance(required, list | tuple) else []

    def only_text(self, name: str) -> str | None:
        """The parameter that free text is for: the single required one, or the only one, if it takes text."""
        required, every = self.required(name), self.properties(name)
        single = required[0] if len(required) == 1 else every[0] if len(every) == 1 else None
        if single is None:
            return None
        schema = self._specs[name].parameters.get("properties", {}).get(single)
        kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
        return single if kind == "string" or (isinstance(kind, list) and "string" in kind) else None

    def mentioned(self, text: str) -> bool:
        """True if a tool's name can be in the text; a cheap test, so that most texts are not parsed further."""
        squeezed = squeeze_name(text)
        return any(key in squeezed for key in self._squeezed)

    def within(self, text: str) -> str | None:
        """The one offered name that occurs as a word in a line of prose; None if there are several."""
        words = {found for word in re.findall(r"[\w.\-]{2,128}", text[:400]) if (found := self.resolve(word))}
        return words.pop() if len(words) == 1 else None


def squeeze_name(text: str) -> str:
    """Letters and digits only, case folded: get_Weather, `get weather` and get.weather are one."""
    return re.sub(r"[\W_]+", "", text).casefold()
