"""Report of a large corpus: what was measured at each size, and what the curves say of ten million chunks."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.bench.large.curve import fit_growth
from tests.bench.large.synthetic import all_filters
from tests.evals.report import Report

TARGET = 10_000_000
RECALL, P95, MEMORY = 0.95, 100.0, 16 * 2**30
GOAL = (
    "10M: recall@10 ≥ .95 under every filter, p95 ≤ 100 ms at ≤ 16 GB; or the largest size that fits here with the "
    "curve to 10M and what it needs"
)
FEWEST_GOAL = "k results (10), not fewer"
Sizes = Mapping[int, Mapping[str, Any]]


def tell_all(report: Report, sizes: Sizes) -> None:
    """Figures by size, then the curves. Each filter's goal is judged at the largest size that was measured."""
    largest = max((size for size, kept in sizes.items() if "filter: everything" in kept), default=None)
    if largest is None:
        report.figure("largest size that was searched", None, goal=GOAL)
    for size, kept in sizes.items():
        _tell_size(report, size, kept, judged=size == largest)
    _tell_growth(report, sizes)
    if largest is not None:
        for one in all_filters():
            if f"filter: {one.name}" not in sizes[largest]:
                report.figure(f"{largest:,} chunks: {one.name}", None, goal=GOAL)
        _tell_filters(report, largest, sizes[largest])


def _tell_size(report: Report, size: int, kept: Mapping[str, Any], judged: bool) -> None:
    at = f"{size:,} chunks"
    for name, value in kept.items():
        kind, _, rest = name.partition(": ")
        if kind == "filter":
            _tell_filter(report, at, value, judged)
        elif kind.startswith("within "):
            _tell_filter(report, f"{at}, pages {kind} and read from the disk else", value, judged=False)
        elif kind == "ways":
            for way, (found, middle, late) in value.items():
                first = f"fewest rows {found:.0f}" if way.startswith("words") else f"recall@10 {found:.3f}"
                told = f"{first}, p50 {middle:.1f}, p95 {late:.1f} ms"
                report.figure(f"{at}: {rest}, {'' if way.startswith('words') else 'vectors by '}{way} alone", told)
        elif kind == "language":
            report.figure(f"{at}: keyword retriever, {rest} among four languages, p50", value["keyword"][0], unit="ms")
            report.figure(f"{at}: keyword retriever, {rest} among four languages, p95", value["keyword"][1], unit="ms")
        elif kind in ("index", "index over sentences"):
            _tell_index(report, f"{at}{kind.removeprefix('index')}", value)
    for step, seconds in kept.get("build", {}).items():
        in_bytes = step.endswith(", bytes")
        value = seconds / 2**20 if in_bytes else seconds
        report.figure(f"{at}: {step.removesuffix(', bytes')}", round(value, 1), unit="MiB" if in_bytes else "s")
    for part, size_of in kept.get("disk", {}).items():
        report.figure(f"{at}: disk, {part}, a chunk", round(size_of / size), unit="bytes")
    if "memory" in kept:
        report.figure(f"{at}: memory of Postgres (PSS)", round(kept["memory"] / 2**20), unit="MiB")
        report.figure(f"{at}: shared_buffers", kept["shared_buffers"])
    if "dimension" in kept:
        report.figure(f"{at}: local intrinsic dimension of the vectors", kept["dimension"])
    if "maintenance" in kept:
        _tell_maintenance(report, at, kept["maintenance"])


def _tell_filter(report: Report, at: str, one: Mapping[str, Any], judged: bool) -> None:
    of = f"{at}: {one['filter']}"
    goal = GOAL if judged else ""
    found, late = one["recall"], one["hybrid"][1]
    report.figure(
        f"{of}, recall@10 ({one['engine']})",
        found,
        reference=RECALL,
        goal=goal,
        holds=found >= RECALL if judged else None,
    )
    report.figure(f"{of}, search p95", late, unit="ms", reference=P95, goal=goal, holds=late <= P95 if judged else None)
    report.figure(f"{of}, search p50", one["hybrid"][0], unit="ms")
    for way in ("vector", "keyword", "resolve"):
        report.figure(f"{of}, {way} p50", one[way][0], unit="ms")
        report.figure(f"{of}, {way} p95", one[way][1], unit="ms")
    report.figure(f"{of}, fewest hits", one["fewest"], goal=FEWEST_GOAL, holds=one["fewest"] >= 10)


def _tell_index(report: Report, at: str, one: Mapping[str, Any]) -> None:
    of = f"{at}: {one['name']}"
    report.figure(f"{of}, built", round(one["build"], 1), unit="s")
    report.figure(f"{of}, size", round(one["megabytes"]), unit="MiB")
    report.figure(f"{of}, rows with their vectors", round(one["rows"]), unit="MiB")
    for how, (found, (middle, late), fewest) in one["asked"].items():
        told = f"recall@10 {found:.3f}, p50 {middle:.1f}, p95 {late:.1f} ms, fewest rows {fewest}"
        report.figure(f"{of}, {how}", told)
    report.figure(f"{of}, read by", one["plan"])


def _tell_maintenance(report: Report, at: str, one: Mapping[str, Any]) -> None:
    report.figure(f"{at}: deleted", one["deleted"], unit="chunks")
    report.figure(f"{at}: vacuum after that", round(one["vacuum"], 1), unit="s")
    report.figure(f"{at}: own vectors that the graph finds after that", one["probe"])
    for name, figures in one.items():
        if isinstance(figures, Mapping):
            found = figures["recall"]
            told = f"{at}, a twentieth deleted and vacuumed: {name}, recall@10"
            report.figure(told, found, reference=RECALL, goal=GOAL, holds=found >= RECALL)
            report.figure(
                f"{at}, a twentieth deleted and vacuumed: {name}, search p95", figures["hybrid"][1], unit="ms"
            )


def _tell_growth(report: Report, sizes: Sizes) -> None:
    """What ten million take, by curves through at least three sizes; a step that was not measured has none."""

    def figures(of: Callable[[Mapping[str, Any]], float]) -> dict[int, float]:
        found = {}
        for size, kept in sizes.items():
            try:
                found[size] = of(kept)
            except KeyError:  # not measured at this size
                continue
        return found

    gib = 2**30
    grown: list[tuple[str, str, float, Callable[[Mapping[str, Any]], float]]] = [
        ("load", "h", 3600, lambda kept: kept["build"]["load"]),
        ("graph built", "h", 3600, lambda kept: kept["build"]["build hnsw"]),
        ("keyword index built", "h", 3600, lambda kept: kept["build"]["build document_chunks_bm25"]),
        ("disk", "GiB", gib, lambda kept: kept["disk"]["database"]),
        ("graph on disk and in memory", "GiB", gib, lambda kept: kept["disk"]["graph"]),
        ("keyword index on disk", "GiB", gib, lambda kept: kept["disk"]["BM25"]),
    ]
    for share in (0, 1):
        for way in ("vector", "keyword", "hybrid"):
            told = f"everything, {'search' if way == 'hybrid' else way}, p{95 if share else 50}"
            grown.append((told, "ms", 1, lambda kept, way=way, share=share: kept["filter: everything"][way][share]))
    grown.append(("graph, vectors and keyword index, which stay in memory", "GiB", gib, _kept_in_memory))
    for name, unit, scale, of in grown:
        measured = figures(of)
        curve = fit_growth(measured)
        if curve is None:
            report.figure(f"10M, {name}", f"no curve: {len(measured)} sizes were measured")
        else:
            report.figure(
                f"10M (extrapolated), {name}", curve.at(TARGET) / scale, unit=unit, reference=curve.told(TARGET)
            )

    hot = figures(_kept_in_memory)
    curve = fit_growth(hot)
    sizes_told = ", ".join(f"{size:,}" for size in hot)
    report.figure("10M: curves, through the sizes", sizes_told or None, goal=GOAL, holds=curve is not None)
    if curve is not None:
        largest = max(hot)
        report.figure(
            "chunks whose graph, vectors and keyword index fit 16 GiB (extrapolated)",
            round(MEMORY / (hot[largest] / largest), -5),
            reference=f"bytes a chunk at {largest:,}: {hot[largest] / largest:,.0f}",
        )


def _kept_in_memory(kept: Mapping[str, Any]) -> float:
    """Bytes that searches read at random: from a disk each of a thousand pages would take a tenth of a ms and more."""
    disk = kept["disk"]
    return float(disk["graph"] + disk["vectors"] + disk["BM25"])


def _tell_filters(report: Report, size: int, kept: Mapping[str, Any]) -> None:
    """Filters at ten million, by what decides their cost: of a walk the share, of an exact scan the number of chunks.

    Both hold while all that is read stays in memory.
    """
    for name, ways in kept.items():
        kind, _, filter_name = name.partition(": ")
        if kind != "ways" or filter_name == "everything":
            continue
        of, percent, _ = filter_name.split()
        narrow = f"{of} {float(percent) * size / TARGET:g} %"
        scope = f"of a scope of as many chunks ({size * float(percent) / 100:,.0f}) at {size:,}"
        for told, way, reference in (
            (f"{narrow}, vectors exactly", "exact", scope),
            (f"{narrow}, words exactly", "words exactly", scope),
            (f"{filter_name}, vectors by the graph", "graph", f"of the same share at {size:,}"),
        ):
            if way in ways:
                report.figure(f"10M (extrapolated), {told}, p95", ways[way][2], unit="ms", reference=reference)
