"""The settings that golden figures depend on, kept beside them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from configs.section import Section
from configs.sections import Settings

SECTIONS = ("chunk", "embedding", "search", "enhance", "pack", "rerank")


def settings_snapshot(settings: Settings) -> dict[str, Any]:
    """Section to its values, secrets left out; of the language model only which one, and whether there is any."""
    found = {name: _section_values(getattr(settings, name)) for name in SECTIONS}
    return found | {"llm": {"model": settings.llm.model, "generates": settings.llm.base_url is not None}}


class LiveSnapshot(Mapping[str, Any]):
    """The same of settings that may change while the program runs, taken anew each time it is read."""

    def __init__(self, effective: Callable[[], Settings]) -> None:
        """`effective`: the settings that count at a moment."""
        self._effective = effective

    def __getitem__(self, key: str) -> Any:
        return settings_snapshot(self._effective())[key]

    def __iter__(self) -> Iterator[str]:
        return iter(settings_snapshot(self._effective()))

    def __len__(self) -> int:
        return len(settings_snapshot(self._effective()))


def _section_values(section: Section) -> dict[str, Any]:
    secret = {name for name in type(section).model_fields if section.is_secret(name)}
    return section.model_dump(mode="json", exclude=secret)
