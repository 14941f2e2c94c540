"""`make bench-10m`: a corpus that grows, searched under filters from everything to .001 %, and its curve.

Sizes are grown one after the other (`--chunks`, several times) and measured; what ten million chunks take follows by
curves through them, and is said to be extrapolated. `--folder` keeps the state: a run that was cut off goes on there.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from cluster.state.db.postgres import Database
from configs.sections_retrieval import SearchSettings
from tests.bench.large import alternatives, sentences, sizes, synthetic, upkeep
from tests.bench.large.alternatives import AskedCorpus, IndexKind
from tests.bench.large.kept import KeptFigures
from tests.bench.large.searching import Asker, chunk_numbers, measure_filter, measure_ways
from tests.bench.large.store import CorpusStore, Places
from tests.bench.large.synthetic import ScopeFilter
from tests.bench.large.telling import tell_all
from tests.bench.large.texts import RealTexts
from tests.bench.large.truth import NEIGHBOURS, NearestChunks, find_nearest, intrinsic_dimension
from tests.evals import irdata
from tests.evals.report import Report

SIZES = (30_000, 100_000, 300_000, 1_000_000)
STEPS = ("build", "search", "maintain")
SENTENCES = 40_000
QUESTIONS = 60
BOTH_WAYS = ("everything", "tenant 10 %", "tenant 1 %", "agent 10 %", "agent 1 %", "readers 10 %", "readers 1 %")


class TenMillionBench:
    """One folder's corpus, and what is measured in it."""

    def __init__(
        self,
        store: CorpusStore,
        texts: RealTexts,
        kept: KeptFigures,
        questions: int,
        cache: int | None,
        filters: Sequence[str],
    ) -> None:
        """`kept` has the figures of this folder, those of earlier runs included; `cache` is the store's.

        `filters` are the names of those that are searched under, all where none is named.
        """
        self._store, self._texts, self._kept, self._cache, self._named = store, texts, kept, cache, filters
        self._topics, self._vectors = store.mixture.questions(questions)
        self._asked = texts.questions("en", questions)

    async def run(self, chunks: int, steps: Sequence[str], kinds: Sequence[IndexKind], evals: Path | None) -> None:
        """Grow to a size and measure; what was measured there already is measured anew.

        `kinds` of indexes are compared beside it, also over real sentences where the evaluation data are given.
        """
        places = await self._store.open()
        database = Database(self._store.endpoints.postgres)
        await database.open()
        try:
            if "build" in steps:
                await asyncio.to_thread(self._store.load, places, self._texts, chunks)
            # Also where nothing was built: the keyword index has to be of this run of the server.
            await self._store.build(places, database, chunks)
            if "build" in steps:
                self._keep_build(places, chunks)
            if "search" in steps:
                await self._search(places, database, chunks)
            if kinds:
                await self._compare(places, chunks, kinds)
            if kinds and evals is not None:
                await self._compare_sentences(places, kinds, evals)
            if "maintain" in steps:
                await self._maintain(places, database, chunks)
        finally:
            await database.close()

    def _keep_build(self, places: Places, chunks: int) -> None:
        steps = {name: seconds for (size, name), seconds in self._store.steps().items() if size == chunks}
        steps["load"] = self._store.load_seconds(chunks)
        self._kept.put(chunks, "build", steps)
        self._kept.put(chunks, "disk", dict(sizes.measure_disk(self._store.admin, places.generation)))

    def _truths(self, chunks: int, filters: Sequence[ScopeFilter], deleted: bool) -> Mapping[str, NearestChunks]:
        narrow = self._store.mixture.narrow_topics()

        def of(one: ScopeFilter) -> Any:
            def contains(block: synthetic.DocumentBlock) -> synthetic.Mask:
                inside = one.contains(block, narrow)
                return inside & ~synthetic.is_deleted(block.numbers) if deleted else inside

            return contains

        most = {one.name: NEIGHBOURS if one.kind == "all" else 10 for one in filters}
        blocks = map(self._store.mixture.block, synthetic.blocks_of(chunks))
        return find_nearest(self._vectors, blocks, {one.name: of(one) for one in filters}, most)

    def _asker(self, places: Places, one: ScopeFilter) -> Asker:
        return Asker(one, *places.of(one), self._asked, self._vectors)

    async def _search(self, places: Places, database: Database, chunks: int) -> None:
        filters = [one for one in synthetic.all_filters() if not self._named or one.name in self._named]
        truths = await asyncio.to_thread(self._truths, chunks, filters, False)
        if "everything" in truths:
            self._kept.put(chunks, "dimension", intrinsic_dimension(truths["everything"].distances))
        settings, admin = SearchSettings(), self._store.admin
        told = "filter" if self._cache is None else f"within {self._cache} MiB"
        for number, one in enumerate(filters, 1):
            asker, truth = self._asker(places, one), truths[one.name].ids
            if not truth.shape[1]:
                print(f"{chunks:,} chunks: {one.name} holds nothing at this size", file=sys.stderr, flush=True)
                continue
            figures = await measure_filter(database, admin, asker, truth, settings)
            self._kept.put(chunks, f"{told}: {one.name}", asdict(figures))
            if one.name in BOTH_WAYS and self._cache is None:
                ways = await measure_ways(database, admin, asker, truth, settings)
                self._kept.put(chunks, f"ways: {one.name}", dict(ways))
            print(f"{chunks:,} chunks: filter {number} of {len(filters)}, {figures}", file=sys.stderr, flush=True)
        if self._cache is not None:
            return
        for code in ("en", "de", "es", "ru"):
            await self._language(places, database, chunks, code)
        self._kept.put(chunks, "memory", sizes.measure_memory(self._store.servers))
        self._kept.put(chunks, "shared_buffers", sizes.shared_buffers(admin))
        self._kept.put(chunks, "disk", dict(sizes.measure_disk(admin, places.generation)))

    async def _language(self, places: Places, database: Database, chunks: int, code: str) -> None:
        """Questions of a language to everything, where texts are in four."""
        one = ScopeFilter("all")
        questions = self._texts.questions(code, len(self._vectors))
        scope, agent = places.of(one)
        asker = Asker(one, scope, agent, questions, self._vectors[: len(questions)])
        truth = self._truths(synthetic.BLOCK, [one], False)["everything"].ids[: len(questions)]
        figures = await measure_filter(database, self._store.admin, asker, truth, SearchSettings())
        self._kept.put(chunks, f"language: {code}", {"keyword": figures.keyword, "fewest": figures.fewest})

    async def _compare(self, places: Places, chunks: int, kinds: Sequence[IndexKind]) -> None:
        filters = [ScopeFilter("all"), ScopeFilter("readers", 10), ScopeFilter("readers", 100)]
        truths = await asyncio.to_thread(self._truths, chunks, filters, False)
        corpus = AskedCorpus(
            alternatives.FILL.format(generation=places.generation),
            {one.name: places.of(one)[0] for one in filters},
            self._vectors,
            {name: found.ids for name, found in truths.items()},
            partial(chunk_numbers, self._store.admin),
        )
        await asyncio.to_thread(self._compare_kinds, chunks, kinds, corpus, "index")

    async def _compare_sentences(self, places: Places, kinds: Sequence[IndexKind], evals: Path) -> None:
        """The same with the product's embedder's vectors of real sentences and questions."""
        keep = self._store.folder / "sentences.npz"
        args = (evals, keep, SENTENCES, len(self._vectors))
        vectors, asked = await asyncio.to_thread(sentences.sentence_vectors, *args)
        corpus = await asyncio.to_thread(sentences.fill_table, self._store.admin, places, vectors, asked)
        await asyncio.to_thread(self._compare_kinds, len(vectors), kinds, corpus, "index over sentences")

    def _compare_kinds(self, chunks: int, kinds: Sequence[IndexKind], corpus: AskedCorpus, told: str) -> None:
        for kind in kinds:
            figures = alternatives.measure_kind(self._store.admin, self._store.endpoints.postgres, kind, corpus)
            self._kept.put(chunks, f"{told}: {kind.name}", asdict(figures))
            print(figures, file=sys.stderr, flush=True)

    async def _maintain(self, places: Places, database: Database, chunks: int) -> None:
        deleted = await asyncio.to_thread(upkeep.delete_some, self._store, chunks)
        seconds = await asyncio.to_thread(upkeep.vacuum, self._store, places)
        filters = [one for one in synthetic.all_filters() if one.name in BOTH_WAYS]
        truths = await asyncio.to_thread(self._truths, chunks, filters, True)
        found: dict[str, Any] = {"deleted": deleted * synthetic.CHUNKS, "vacuum": seconds}
        found["probe"] = await upkeep.probe_graph(database, places)
        for one in filters:
            asker = self._asker(places, one)
            figures = await measure_filter(database, self._store.admin, asker, truths[one.name].ids, SearchSettings())
            found[one.name] = asdict(figures)
        self._kept.put(chunks, "maintenance", found)


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--chunks", type=int, action="append", help=f"grow to so many; several times; {SIZES} by itself"
    )
    parser.add_argument("--folder", type=Path, help="keep the state here, and go on with what is there")
    parser.add_argument("--only", choices=STEPS, action="append", help="of these steps alone; several times")
    parser.add_argument(
        "--compare", nargs="*", metavar="KIND", help="other indexes too, of these names' beginnings; all without any"
    )
    parser.add_argument("--sentences", action="store_true", help="compare them over vectors of real sentences, too")
    parser.add_argument(
        "--cache",
        type=int,
        metavar="MIB",
        help="search with so much memory for pages, and none of the system's beside it",
    )
    filters = [one.name for one in synthetic.all_filters()]
    told = ", ".join(filters).replace("%", "%%")
    parser.add_argument(
        "--filter", action="append", choices=filters, metavar="NAME", help=f"search under these alone: {told}"
    )
    parser.add_argument("--tell", action="store_true", help="measure nothing; report what the folder has")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--evals", type=Path, default=irdata.DEFAULT, help="folder of the evaluation data: texts")
    options = parser.parse_args(arguments)
    for name in options.compare or ():
        if not alternatives.choose_kinds([name]):
            parser.error(f"no kind of index begins with {name!r}: {', '.join(one.name for one in alternatives.KINDS)}")
    return options


def main() -> int:
    """Measure, print, write `.reports/bench-10m.json`."""
    options = parse_options()
    if not (options.evals / "ir").is_dir():
        print(f"bench-10m: there is no {options.evals / 'ir'}; give the evaluation data with --evals", file=sys.stderr)
        return 2
    folder = options.folder or Path(tempfile.mkdtemp(prefix="aos-10m-"))
    kept, store = KeptFigures(folder / "figures.json"), CorpusStore(folder, options.cache)
    report = Report("bench-10m", part=bool(options.only or options.filter))
    try:
        if not options.tell:
            texts = RealTexts.read(options.evals)
            bench = TenMillionBench(store, texts, kept, options.questions, options.cache, options.filter or ())
            # A corpus that was thinned out by maintenance is not grown: that comes with the last size alone.
            wanted = sorted(options.chunks or SIZES)
            for chunks in wanted:
                steps = options.only or (STEPS if chunks == wanted[-1] else STEPS[:2])
                kinds = [] if options.compare is None else alternatives.choose_kinds(options.compare)
                sentences_of = options.evals if options.sentences and chunks == wanted[-1] else None
                uvloop.run(bench.run(chunks, steps, kinds, sentences_of))
        tell_all(report, kept.sizes())
    finally:
        store.close()
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
