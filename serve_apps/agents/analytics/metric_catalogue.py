"""The metrics that exist: names and synonyms, dimensions, states, and the query template of each."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cluster.basics.errors import InvalidSettings
from cluster.state.db.postgres import load_queries

TIMES = ("day", "week", "month")
FILTERS = frozenset({"tenant", "workspace", "since", "until", "state", "by", "times", "limit"})
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_WRITES = re.compile(r"\b(insert|update|delete|merge|truncate|alter|drop|create|grant|copy|call|do|set|into)\b")


class _Words(BaseModel):
    model_config = ConfigDict(extra="forbid")
    words: list[str]
    alone: list[str] = []


class _Metric(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(pattern=r"^[a-z_]{1,40}$")
    title: str
    unit: str
    decimals: int = Field(2, ge=0, le=6)
    definition: str
    synonyms: list[str] = Field(min_length=1)
    dimensions: list[str]
    states: dict[str, list[str]] = {}


class _Catalogue(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rows: int = Field(ge=1, le=1000)
    spike: float = Field(gt=1)
    spike_points: int = Field(ge=3)
    dimensions: dict[str, _Words]
    metrics: list[_Metric] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric."""

    name: str
    title: str  # as a heading
    unit: str  # of its values, behind them
    decimals: int  # most digits behind the point
    definition: str  # what exactly is counted
    synonyms: tuple[str, ...]  # phrases that name it, each with spaces around
    dimensions: tuple[str, ...]  # what it can be split by
    states: Mapping[str, tuple[str, ...]]  # state to the phrases that narrow the metric to it
    sql: str  # the template; see FILTERS for what is filled in


@dataclass(frozen=True, slots=True)
class MetricDimension:
    """Phrases that ask for a group-by: `words` behind by, per or each; `alone` without."""

    words: tuple[str, ...]
    alone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MetricCatalogue:
    """Every metric in its order; `fingerprint` changes with the file and the templates."""

    rows: int  # most groups of an answer
    spike: float  # how many times its median a value must be to be pointed out
    spike_points: int  # how many points a series needs for that
    dimensions: Mapping[str, MetricDimension]
    metrics: Mapping[str, Metric]
    fingerprint: str


def read_catalogue(file: Path, templates: Path | None = None) -> MetricCatalogue:
    """Read the catalogue and its templates, and refuse one whose query lacks a mandatory filter.

    Raises InvalidSettings with the metric and the reason.
    """
    try:
        raw = _Catalogue.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
        queries = load_queries(templates or Path(__file__).with_name("metrics.sql"))
        dimensions = {
            name: MetricDimension(_pad_phrases(d.words), _pad_phrases(d.alone)) for name, d in raw.dimensions.items()
        }
        metrics = {one.name: _compile_metric(one, queries, dimensions) for one in raw.metrics}
        if len(metrics) != len(raw.metrics):
            raise ValueError("two metrics share a name")
    except (OSError, yaml.YAMLError, ValidationError, ValueError) as error:
        raise InvalidSettings(f"{file.name}: {error}") from error
    plain = json.dumps([raw.model_dump(mode="json"), dict(queries)], sort_keys=True)
    fingerprint = sha256(plain.encode()).hexdigest()[:16]
    return MetricCatalogue(raw.rows, raw.spike, raw.spike_points, dimensions, metrics, fingerprint)


def _compile_metric(raw: _Metric, queries: Mapping[str, str], dimensions: Mapping[str, MetricDimension]) -> Metric:
    unknown = [name for name in raw.dimensions if name not in dimensions]
    if unknown or raw.name not in queries:
        raise ValueError(f"{raw.name}: there is no dimension or query {unknown or raw.name}")
    sql = queries[raw.name]
    _check_template(raw, sql)
    states = {state: _pad_phrases(words) for state, words in raw.states.items()}
    plain = (raw.name, raw.title, raw.unit, raw.decimals, raw.definition)
    return Metric(*plain, _pad_phrases(raw.synonyms), tuple(raw.dimensions), states, sql)


def _check_template(raw: _Metric, sql: str) -> None:
    """A template reads, in one statement, under every filter; what it is given are values, never text of a query."""
    body = re.sub(r"^--.*$", "", sql, flags=re.MULTILINE).strip()
    named = set(_PLACEHOLDER.findall(body))
    if named != FILTERS:
        raise ValueError(f"{raw.name}: its query must use exactly {sorted(FILTERS)}, it uses {sorted(named)}")
    if not body.startswith("select") or ";" in body[:-1] or _WRITES.search(body):
        raise ValueError(f"{raw.name}: its query must be a single select")
    missing = [name for name in raw.dimensions if f"when '{name}' then" not in body]
    if missing:
        raise ValueError(f"{raw.name}: its query does not know the dimension {missing[0]}")


def _pad_phrases(words: list[str]) -> tuple[str, ...]:
    return tuple(f" {word} " for word in words)
