"""`make eval-ablation`: each hand-written rule of retrieval left out, on every set, beside all rules together."""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cluster.models.embedding.local import LocalEmbedder
from cluster.models.ports import EmbeddingLane
from cluster.state.db import embedded
from cluster.state.db.postgres import Database
from configs.sections_retrieval import CacheSettings, EmbeddingSettings, RerankSettings, SearchSettings
from configs.settings import load_settings
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.cache.calibration import RiskCalibration
from serve_apps.retrieval.cache.near_miss import same_question, same_words
from serve_apps.retrieval.golden.compare import bootstrap_interval
from serve_apps.retrieval.text.lexicon import SynonymLexicon
from tests.evals import irdata, near_misses, swapped_roles
from tests.evals.ablation_sets import MemoEmbedder, MemoSearch, load_corpus, read_questions
from tests.evals.ablations import Ablation, answer_ablations, cache_ablations, folded_once, left_out, threshold_grids
from tests.evals.eval_cache import EACH, LANGUAGES, ROLES, UNLIKE
from tests.evals.eval_cache import read_questions as cache_questions
from tests.evals.report import Report, current_commit

ALL = "all rules"
WRONG_COST = 100  # questions asked anew that one false hit outweighs: it is a wrong answer, they cost a model call
EARNED_GOAL = "what does not help on the set left out is deleted"
ANSWER_SETS = {
    "reports": "reports",
    "reports absent": "reports",
    "squad2": "squad2",
    "squad2 absent": "squad2",
    "rag": "rag",
    "forms": "forms",
    "squad2 misspelt": "squad2",
    "squad2 commanded": "squad2",
    "spanish": "spanish",
}

Outcomes = Mapping[str, NDArray[np.float64]]  # by figure, an item each; every set has a figure `right`


@dataclass(frozen=True, slots=True)
class CachePair:
    """Two questions, and whether they ask the same."""

    one: str
    other: str
    same: bool


class OutcomeStore:
    """Outcomes by rule and set, on disk, so that a run goes on where another one was ended."""

    def __init__(self, folder: Path) -> None:
        """The folder is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def read(self, rule: str, of_set: str) -> Outcomes | None:
        """None where there are none yet."""
        path = self._path(rule, of_set)
        if not path.exists():
            return None
        told = json.loads(path.read_text(encoding="utf-8"))
        return {name: np.array(values, dtype=np.float64) for name, values in told.items()}

    def write(self, rule: str, of_set: str, rows: Sequence[Mapping[str, bool]]) -> Outcomes:
        """Keep them."""
        told = {name: [int(row[name]) for row in rows] for name in rows[0]}
        self._path(rule, of_set).write_text(json.dumps(told), encoding="utf-8")
        return {name: np.array(values, dtype=np.float64) for name, values in told.items()}

    def _path(self, rule: str, of_set: str) -> Path:
        return self._folder / f"{of_set}--{''.join(c if c.isalnum() else '-' for c in rule)}.json"


def cache_sets(evals: Path) -> dict[str, list[CachePair]]:
    """Look-alikes that ask something else, and paraphrases."""

    def rows(name: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (evals / "cache" / name).read_text(encoding="utf-8").splitlines()]

    kinds = swapped_roles.read_kinds()
    graded, mocked = rows("stsb_dev.jsonl"), rows("gptcache_mock_similar.jsonl")
    foreign = []
    for code in LANGUAGES:
        data = json.loads((evals / "xquad" / f"xquad.{code}.json").read_text(encoding="utf-8"))["data"]
        asked = [qa["question"] for book in data for part in book["paragraphs"] for qa in part["qas"]]
        foreign += near_misses.make([" ".join(question.split()) for question in asked], EACH // 2)
    unlike = {
        "near misses": near_misses.make(cache_questions(evals), EACH),
        "swapped roles": swapped_roles.make(3 * ROLES, [kind for kind in kinds if not kind.held_out]),
        "swapped roles, other kinds": swapped_roles.make(ROLES, [kind for kind in kinds if kind.held_out]),
        "other languages": foreign,
    }
    found = {name: [CachePair(pair.one, pair.other, False) for pair in pairs] for name, pairs in unlike.items()}
    found["graded, unlike"] = [CachePair(row["a"], row["b"], False) for row in graded if float(row["score"]) < UNLIKE]
    found["graded, alike"] = [CachePair(row["a"], row["b"], True) for row in graded if float(row["score"]) >= 4.5]
    found["gptcache"] = [CachePair(row["origin"], row["similar"], True) for row in mocked]
    return found


async def run_cache(store: OutcomeStore, evals: Path, embedder: MemoEmbedder, rules: Sequence[Ablation | None]) -> None:
    """Every pair of every set by every rule left out, at the similarity that follows from the default risk."""
    threshold = RiskCalibration.read().threshold(CacheSettings(), (await embedder.facts()).name)
    for name, pairs in cache_sets(evals).items():
        await embedder.embed([text for pair in pairs for text in (pair.one, pair.other)], EmbeddingLane.BULK)
        embedder.keep()
        near = [float(embedder.known[pair.one] @ embedder.known[pair.other]) >= (threshold or 2) for pair in pairs]
        figure = "hits" if pairs[0].same else "false hits"
        for rule in rules:
            if store.read(rule.rule if rule else ALL, name) is None:
                with left_out(rule) if rule else nullcontext():
                    lexicon = SynonymLexicon.read()
                    same = [
                        same_question(pair.one, pair.other, lexicon).same if at else same_words(pair.one, pair.other)
                        for at, pair in zip(near, pairs, strict=True)
                    ]
                judged = [{"right": hit == pair.same, figure: hit} for hit, pair in zip(same, pairs, strict=True)]
                store.write(rule.rule if rule else ALL, name, judged)


async def run_answers(
    store: OutcomeStore, options: argparse.Namespace, embedder: MemoEmbedder, rules: Sequence[Ablation | None]
) -> None:
    """Every question of every set by every rule left out."""
    made = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(options.state / "aos")}))
    database = Database(made.postgres, size=3)
    await database.open()
    try:
        for name, corpus in ANSWER_SETS.items():
            if options.sets and name not in options.sets:
                continue
            scope = await load_corpus(made.postgres_admin or "", options.evals / "qa", corpus, embedder)
            search = MemoSearch(database, embedder, None, SearchSettings(), RerankSettings())
            answerer = DocumentAnswerer(search, database, embedder)
            questions = read_questions(options.evals / "qa", name, options.most)
            for rule in rules:
                title = rule.rule if rule else ALL
                if store.read(title, name) is None:
                    with folded_once(), left_out(rule) if rule else nullcontext():
                        rows = [one.judge(await answerer.ask(scope, one.text)) for one in questions]
                    figures = store.write(title, name, rows)
                    embedder.keep()
                    print(name, title, {key: round(float(v.mean()), 3) for key, v in figures.items()}, file=sys.stderr)
    finally:
        await database.close()


def report_rules(report: Report, store: OutcomeStore, sets: Sequence[str], rules: Sequence[Ablation]) -> None:
    """A row for each rule, set and figure, and whether the rule earns its place."""
    for rule in rules:
        gains: dict[str, float] = {}
        for name in sets:
            having, without = store.read(ALL, name), store.read(rule.rule, name)
            if having is None or without is None or len(having["right"]) != len(without["right"]):
                continue
            cost = WRONG_COST if "false hits" in having else 1
            gains[name] = cost * float((having["right"] - without["right"]).mean())
            for figure in having:
                delta = having[figure] - without[figure]
                if delta.any():
                    low, high = bootstrap_interval(delta)
                    report.figure(
                        f"{rule.rule} | {name} ({len(delta)}) | {figure}, with and without",
                        float(having[figure].mean()) * 100,
                        unit=f"% (difference {delta.mean() * 100:+.2f}, {low * 100:+.2f} to {high * 100:+.2f})",
                        reference=float(without[figure].mean()) * 100,
                    )
        if gains:
            kept = [name for name in gains if sum(value for other, value in gains.items() if other != name) >= 0]
            realised = sum(gains[name] for name in kept)
            report.figure(
                f"{rule.rule} | gain on sets left out, over {len(gains)}",
                realised * 100,
                unit="points",
                goal=EARNED_GOAL,
                holds=realised > 0,
            )


def report_thresholds(report: Report, store: OutcomeStore, sets: Sequence[str]) -> None:
    """For each threshold and set the value that is best on the other sets, and what it brings on this one."""
    for name, (owner, attribute, values) in threshold_grids().items():
        shipped = vars(owner)[attribute]
        rates: dict[float, dict[str, float]] = {}
        for value in values:
            outcomes = {one: store.read(ALL if value == shipped else f"{name}={value}", one) for one in sets}
            rates[value] = {one: float(rows["right"].mean()) for one, rows in outcomes.items() if rows is not None}
        known = [one for one in sets if all(one in rates[value] for value in values)]
        for one in known:
            best = max(
                values, key=lambda value, one=one: (sum(rates[value][o] for o in known if o != one), value == shipped)
            )
            report.figure(
                f"{name} | chosen without {one}: {best:g}, right answers there",
                rates[best][one] * 100,
                unit="%",
                reference=rates[shipped][one] * 100,
            )


def threshold_ablations() -> list[Ablation]:
    """Each value of each grid but the one that ships."""
    return [
        Ablation(f"{name}={value}", ((owner, attribute, value),))
        for name, (owner, attribute, values) in threshold_grids().items()
        for value in values
        if value != vars(owner)[attribute]
    ]


def main() -> int:
    """Measure what is not measured yet, print, and fail where a rule does not earn its place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=irdata.DEFAULT)
    parser.add_argument("--state", type=Path, help="keep documents, vectors and outcomes here, and go on with them")
    parser.add_argument("--most", type=int, default=150, help="questions of a set")
    parser.add_argument("--only", choices=("cache", "answers", "report"), help="leave the others out")
    parser.add_argument("--sets", nargs="*", help="sets of answers; all unless given")
    parser.add_argument("--rules", metavar="TEXT", help="rules of answers whose name holds one of these, parted by |")
    options = parser.parse_args()
    if not (options.evals / "qa").is_dir():
        sys.exit(f"{options.evals}: no such data; give --evals the folder with the data to measure on")
    kept, options.state = options.state is not None, options.state or Path(tempfile.mkdtemp(prefix="aos-"))
    store = OutcomeStore(options.state / f"outcomes-{options.most}-{current_commit()[:12]}")
    report = Report("eval-ablation", part=options.only in ("cache", "answers") or bool(options.sets or options.rules))
    of_answers, of_cache = answer_ablations(), cache_ablations()
    if options.rules:
        of_answers = [one for one in of_answers if any(part in one.rule for part in options.rules.split("|"))]
    try:
        asyncio.run(measure(store, options, of_answers, of_cache))
        report_rules(report, store, list(ANSWER_SETS), of_answers)
        report_thresholds(report, store, list(ANSWER_SETS))
        if options.only != "answers":
            report_rules(report, store, list(cache_sets(options.evals)), of_cache)
    finally:
        embedded.stop_servers(options.state / "aos")
        if not kept:
            shutil.rmtree(options.state, ignore_errors=True)
    return report.finish()


async def measure(
    store: OutcomeStore, options: argparse.Namespace, of_answers: Sequence[Ablation], of_cache: Sequence[Ablation]
) -> None:
    """Both rooms, or what is asked for."""
    if options.only == "report":
        return
    embedder = MemoEmbedder(LocalEmbedder(EmbeddingSettings()), options.state / "vectors.pickle")
    if options.only != "answers":
        await run_cache(store, options.evals, embedder, [None, *of_cache])
    if options.only != "cache":
        await run_answers(
            store, options, embedder, [None, *of_answers, *(() if options.rules else threshold_ablations())]
        )


if __name__ == "__main__":
    sys.exit(main())
