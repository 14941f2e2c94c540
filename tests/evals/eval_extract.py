"""Extraction to a schema: values right without a model and where they lead, and what becomes of a model's values."""

import argparse
import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx2

from cluster.basics.scope import Scope
from cluster.models.chat.factory import open_model
from cluster.models.connections.endpoint_connection import AuthMode, ConnectionId, ModelConnection, Provider
from cluster.models.messages import ChatRequest, ModelReply
from cluster.models.ports import ChatModel
from cluster.models.routing.tasks import Task
from serve_apps.retrieval.extraction.document_extractor import DocumentExtractor, UseModel
from serve_apps.retrieval.extraction.extraction_result import ExtractedField, Extraction, FieldState
from serve_apps.retrieval.extraction.stored_extractions import ReadDocument
from serve_apps.retrieval.search.query_writer import WriterReply
from serve_apps.retrieval.tables.cell_values import parse_number
from tests.evals.extraction_data import DEFAULT, LabelledDocument, count_right, leaf_values, read_labelled
from tests.evals.report import Report
from tests.fakes.agents import SCOPE
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say

GOAL = (
    "`../shared/evals/extraction` (13 documents with schema and truth, scorer described in its README): without a model"
    " ≥ 35 % of leaf values right and every value with a box; with a scripted model 100 % of its values grounded or"
    " flagged."
)
LEAST_RIGHT = 0.35
Json = Any


@dataclass
class Shelf:
    """Documents that were read, in place of those that are stored; it keeps nothing."""

    documents: dict[str, LabelledDocument]
    kept: list[Extraction] = field(default_factory=list)

    async def load_document(
        self, scope: Scope, document: str, agent: str | None = None, *, by_name: bool = False
    ) -> ReadDocument:
        one = self.documents[document]
        return ReadDocument(one.name, one.name, one.name, len(one.pages), one.pages)

    async def keep_extraction(
        self, scope: Scope, document: ReadDocument, schema: Json, found: Extraction, model: str | None
    ) -> str:
        self.kept.append(found)
        return str(len(self.kept))


@dataclass
class HttpWriter:
    """A `QueryWriter` that asks one model over HTTP."""

    model: ChatModel

    async def write(
        self,
        scope: Scope,
        agent: str | None,
        task: Task,
        request: ChatRequest,
        listen: Callable[[str], None] | None = None,
    ) -> WriterReply:
        async for item in self.model.stream(request):
            if isinstance(item, ModelReply):
                return WriterReply(item.content, item.model)
        raise AssertionError("a stream ends with its reply")


async def measure_facts(documents: Sequence[LabelledDocument], report: Report) -> None:
    """Without a model: how many of the truth's values, and where each value leads."""
    stored: Any = Shelf({one.name: one for one in documents})
    extractor = DocumentExtractor(stored, None)
    shares, exact, places = list[float](), list[float](), Counter[str]()
    wrong_found, found = 0, 0
    for one in documents:
        result = (await extractor.extract(SCOPE, one.name, one.schema, UseModel.NEVER)).result
        truth, given = len(list(leaf_values(one.labels))), len(list(leaf_values(result.data)))
        right = count_right(one.labels, result.data)
        shares.append(right / truth)
        exact.append(right / max(truth, given))
        places.update(_place_kind(one, each) for each in result.fields if each.value not in (None, []))
        sure = sum(each.state is FieldState.FOUND for each in result.fields)
        found, wrong_found = found + sure, wrong_found + max(0, sure - right)
        report.figure(
            f"without a model: {one.name}, {one.kind}", round(right / truth, 3), reference=f"{right} of {truth}"
        )
    macro = round(fmean(shares), 3)
    report.figure(
        "without a model: leaf values right, mean over documents",
        macro,
        reference=LEAST_RIGHT,
        goal=GOAL,
        holds=macro >= LEAST_RIGHT,
    )
    report.figure("without a model: the same, values beyond the truth's count as wrong", round(fmean(exact), 3))
    report.figure("without a model: values that are stated as found", found)
    report.figure("without a model: of these at least so many wrong", wrong_found)
    nowhere = places["nowhere"] + places["characters, though the page has boxes"]
    told = (
        f"{places['box']} with page and box, {places['characters']} with page and characters where there are no boxes"
    )
    report.figure(
        "without a model: values by where they lead", told, reference=f"{nowhere} others", goal=GOAL, holds=not nowhere
    )


def _place_kind(document: LabelledDocument, one: ExtractedField) -> str:
    """What a value leads to: a box on its page, or characters of a page whose format has no geometry."""
    described = _description_at(document.schema, one.path)
    if one.place is None or not _states(one.value, one.place.quote, described):
        return "nowhere"
    if one.place.boxes:
        return "box"
    return "characters, though the page has boxes" if document.has_boxes else "characters"


def _states(value: Json, quote: str, description: str = "") -> bool:
    """True where a quote says a value, by a comparison that extraction does not make.

    Sign and marks between digits count; only a number that a description asks for without its sign has none.
    """
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        cells = [parse_number(quote.strip(), mark) for mark in ".,"]
        stated = {float(cell.value) for cell in cells if cell is not None}
        return value in stated or (bool(re.search("positive|minus", description)) and -value in stated)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        year, _, day = value.split("-")
        return (year in quote or year[2:] in quote) and str(int(day)) in quote
    said, told = (re.sub(r"[\W_]+", "", text.lower()) for text in (value, quote))
    if not _numerals_of(value) - _numerals_of(quote):
        return said in told
    cell = parse_number(value)
    return cell is not None and not cell.unit and _states(float(cell.value), quote)


def _numerals_of(text: str) -> Counter[str]:
    """Digits with their signs and the marks between them."""
    return Counter(re.findall(r"(?<!\w)-?\d+(?:[^\s\w]\d+)*", re.sub("[‐‑–—−]", "-", text)))


def _description_at(schema: Json, path: str) -> str:
    """What a schema says of the value at a JSON pointer; empty behind references."""
    at = schema
    for step in path.split("/")[1:]:
        at = at.get("properties", {}).get(step, at.get("items", {})) if isinstance(at, dict) else {}
    return str(at.get("description", "")) if isinstance(at, dict) else ""


def right_reply(document: LabelledDocument) -> str:
    """The labels themselves."""
    return json.dumps(document.labels, ensure_ascii=False)


def swapped_reply(document: LabelledDocument) -> str:
    """Every value that of another field of the document: it stands there, in the wrong place."""
    values = list(leaf_values(document.labels))
    turned = iter([*values[1:], *values[:1]])
    return json.dumps(_replaced(document.labels, lambda _: next(turned)), ensure_ascii=False)


def invented_reply(document: LabelledDocument) -> str:
    """Values that stand nowhere."""
    return json.dumps(_replaced(document.labels, _invented), ensure_ascii=False)


def _invented(value: Json) -> Json:
    if isinstance(value, bool):
        return not value
    return f"Zqx{value} Vrembla" if isinstance(value, str) else float(value) * 7 + 31337.13


def _replaced(value: Json, change: Callable[[Json], Json]) -> Json:
    if isinstance(value, dict):
        return {name: _replaced(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, change) for inner in value]
    return None if value is None else change(value)


REPLIES: Mapping[str, Callable[[LabelledDocument], str]] = {
    "right values": right_reply,
    "values of other fields": swapped_reply,
    "values that stand nowhere": invented_reply,
    "right values, cut off": lambda one: right_reply(one)[: len(right_reply(one)) * 2 // 3],
    "broken JSON": lambda one: '{"a": 5 kg, ' + right_reply(one)[1:40],
    "prose": lambda one: "I am sorry, I cannot read this document.",
}


async def measure_model(documents: Sequence[LabelledDocument], report: Report) -> None:
    """A scripted model over HTTP, asked whatever the labels say: no value of it passes without a place or a flag."""
    for name, make in REPLIES.items():
        states, unmarked, shares = Counter[str](), 0, list[float]()
        for one, result in zip(documents, await _ask_scripted(documents, make), strict=True):
            theirs = [each for each in result.fields if each.source == "model" and each.value is not None]
            states.update(str(each.state) for each in theirs)
            unmarked += sum(each.state is FieldState.FOUND and not _is_grounded(one, each) for each in theirs)
            shares.append(count_right(one.labels, result.data) / len(list(leaf_values(one.labels))))
        told = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none used"
        report.figure(f"scripted model, {name}: its values", told)
        report.figure(f"scripted model, {name}: leaf values right", round(fmean(shares), 3))
        report.figure(
            f"scripted model, {name}: neither grounded nor flagged",
            unmarked,
            reference=0,
            goal=GOAL,
            holds=not unmarked,
        )


async def _ask_scripted(
    documents: Sequence[LabelledDocument], make: Callable[[LabelledDocument], str]
) -> list[Extraction]:
    with serve_model(*(Say(make(one), size=4_000) for one in documents)) as model:
        async with httpx2.AsyncClient() as client:
            who = ConnectionId("scripted")
            connection = ModelConnection(who, "scripted", model.url, "scripted-1", Provider.OPENAI, AuthMode.NONE)
            writer = HttpWriter(open_model(connection, None, client, asyncio.sleep, waits=()))
            stored: Any = Shelf({one.name: one for one in documents})
            extractor = DocumentExtractor(stored, writer)
            return [(await extractor.extract(SCOPE, one.name, one.schema, UseModel.ALWAYS)).result for one in documents]


def _is_grounded(document: LabelledDocument, one: ExtractedField) -> bool:
    if one.place is None:
        return False
    text = next(page.text for page in document.pages if page.number == one.place.page)
    # A sign that stands before the quote is not left out of it.
    unsigned = one.place.quote[:1].isdigit() and re.search(r"(?<!\w)[-−]\Z", text[: one.place.start][-2:])
    described = _description_at(document.schema, one.path)
    exact = text[one.place.start : one.place.end] == one.place.quote
    return exact and not unsigned and _states(one.value, one.place.quote, described)


def main() -> int:
    """Measure, print, write `.reports/eval-extract.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=DEFAULT)
    parser.add_argument("--pages", type=Path, help="a file that keeps the pages that were read for the next run")
    parser.add_argument(
        "--half", choices=("even", "odd"), help="only every second document, to check a rule on the other"
    )
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_THREAD_LIMIT", "1")
    folder = arguments.evals / "extraction"
    if not folder.is_dir():
        print(f"eval-extract: there is no {folder}; give the data's folder with --evals", file=sys.stderr)
        return 2
    documents = read_labelled(folder, arguments.pages)
    if arguments.half:
        documents = documents[arguments.half == "odd" :: 2]
    report = Report("eval-extract", part=bool(arguments.half))
    asyncio.run(measure_facts(documents, report))
    asyncio.run(measure_model(documents, report))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
