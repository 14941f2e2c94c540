"""How often questions that are none of the product's own business leave the GENERAL path."""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from serve_apps.agents.intake.path_router import RouteDecision, read_rules, route_message
from serve_apps.agents.turn_ports import TurnPath as Way
from tests.evals.report import ROOT, Report

SETS = ("clinc150_test", "banking77_test")


def main() -> int:
    """Route every question of the two sets; none of them asks for metrics or for stored documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--show", action="store_true", help="print what was caught")
    chosen = parser.parse_args()
    folder = chosen.evals / "routing"
    if not folder.is_dir():
        print(f"{folder} is not there: nothing to measure on")
        return 2
    rules = read_rules(ROOT / "configs" / "routing.yaml")
    report = Report("eval-routing")
    for name in SETS:
        texts = [json.loads(line)["text"] for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]
        began = time.perf_counter()
        routed = [route_message(text, rules) for text in texts]
        spent = time.perf_counter() - began
        caught = [(text, one) for text, one in zip(texts, routed, strict=True) if one.path is not Way.GENERAL]
        report.figure(f"{name}: questions", len(texts))
        for way in (Way.ANALYTICS, Way.DOCUMENTS):
            report.figure(f"{name}: wrongly {way}", sum(one.path is way for _, one in caught))
        report.figure(f"{name}: rules that caught", ", ".join(f"{k} {n}" for k, n in _rules(caught)) or "none")
        report.figure(f"{name}: time a question", 1e6 * spent / len(texts), unit="us")
        for text, one in caught if chosen.show else ():
            print(f"{one.path:10} {one.rule:22} {text}")
    return report.finish()


def _rules(caught: list[tuple[str, RouteDecision]]) -> list[tuple[str, int]]:
    return Counter(one.rule for _, one in caught).most_common()


if __name__ == "__main__":
    sys.exit(main())
