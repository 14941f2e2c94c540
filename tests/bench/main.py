"""`make bench`: every speed as a ratio against a named peer in the same run."""

import argparse
import sys
from pathlib import Path

from tests.bench import (
    bench_agents,
    bench_cache,
    bench_embedding,
    bench_mixed,
    bench_pack,
    bench_product,
    bench_reading,
    bench_reindex,
    bench_sandbox,
    bench_search,
    bench_uploads,
)
from tests.evals.report import Report


def main() -> int:
    """Measure what `--only` names, or everything."""
    parts = {
        "product": lambda: bench_product.measure(report, options.evals),
        "embedding": lambda: bench_embedding.measure(report, options.evals),
        "reading": lambda: bench_reading.measure(report, options.evals),
        "mixed": lambda: bench_mixed.measure(report, options.evals),
        "uploads": lambda: bench_uploads.measure(report),
        "pack": lambda: bench_pack.measure(report),
        "reindex": lambda: bench_reindex.measure(report, options.evals),
        "cache": lambda: bench_cache.measure(report, options.evals),
        "search": lambda: bench_search.measure(report, options.evals),
        "agents": lambda: bench_agents.measure(report),
        "sandbox": lambda: bench_sandbox.measure(report),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=bench_product.default_evals())
    parser.add_argument("--only", choices=sorted(parts), action="append", help="leave the others out")
    options = parser.parse_args()
    if not options.evals.is_dir():
        sys.exit(f"{options.evals}: no such folder; give --evals the folder with the data to measure on")
    report = Report("bench", part=options.only is not None)
    for name in options.only or parts:
        parts[name]()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
