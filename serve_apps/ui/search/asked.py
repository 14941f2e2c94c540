"""A search lab query in three forms: fields of the form, request to the API, query string of a link."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

STRATEGIES: Final = ("hybrid", "keyword", "vector")
PRESETS: Final = ("none", "general", "search_knowledge", "semantic_search", "conversation")
SWITCH: Final[Mapping[str, bool | None]] = {"auto": None, "on": True, "off": False}
PACKS: Final = {"off": False, "general": True} | {one: one for one in ("chat", "recipe", "code")}
SHOWN: Final = (5, 10, 15, 20)
TYPES: Final = ("pdf", "docx", "xlsx", "pptx", "image", "markdown", "html", "text", "csv", "email", "code")


@dataclass(frozen=True, slots=True)
class LabQuery:
    """A question with its switches and filters, in the order of the form's fields; texts may be empty."""

    question: str = ""
    strategy: str = "hybrid"
    preset: str = "none"
    rerank: str = "auto"
    enhance: str = "auto"
    pack: str = "general"
    cache: str = "on"
    shown: int = 10  # passages in the chart; more are asked for, so that those that fell behind have a name, too
    type: str = ""
    file: str = ""
    since: str = ""
    until: str = ""
    agent: str = ""  # an id

    @classmethod
    def given(cls, *values: Any) -> "LabQuery":
        """From the form's fields in their order."""
        return cls.of({one.name: value for one, value in zip(fields(cls), values, strict=True)})

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "LabQuery":
        """From a form or the query of a link; what is not known there is as if it were not said."""
        plain = cls()
        told: dict[str, Any] = {one.name: str(found.get(one.name) or "").strip() for one in fields(cls)}
        switches, packs = tuple(SWITCH), tuple(PACKS)
        choices = {"strategy": STRATEGIES, "preset": PRESETS, "rerank": switches, "enhance": switches, "pack": packs}
        choices["cache"] = ("on", "off")
        for name, known in choices.items():
            if told[name] not in known:
                told[name] = getattr(plain, name)
        shown = int(told["shown"]) if told["shown"].isdecimal() and int(told["shown"]) in SHOWN else plain.shown
        return cls(**{**told, "shown": shown})

    def query(self) -> dict[str, object]:
        """For a link: what is not as usual."""
        said = {one.name: (getattr(self, one.name), one.default) for one in fields(self)}
        return {name: value for name, (value, usual) in said.items() if value != usual}

    def values(self) -> list[Any]:
        """As the form's fields have them; dates and choices that are empty are nothing."""
        found = [getattr(self, one.name) for one in fields(self)]
        return [*found[:8], *[value or None for value in found[8:]]]

    def body(self) -> dict[str, Any]:
        """The request of a search."""
        filters = {"doc_type": self.type, "source_file": self.file}
        filters |= {"upload_date_from": self.since, "upload_date_to": self.until}
        body: dict[str, Any] = {
            "query": self.question,
            "limit": min(100, self.shown * 3),
            "strategy": self.strategy,
            "explain": True,
            "pack": PACKS[self.pack],
            "rerank": SWITCH[self.rerank],
            "enhance": SWITCH[self.enhance],
            "preset": None if self.preset == "none" else self.preset,
            "agent_id": self.agent or None,
            "cache": False if self.cache == "off" else None,
            "filters": {name: value for name, value in filters.items() if value} or None,
        }
        return {name: value for name, value in body.items() if value is not None}
