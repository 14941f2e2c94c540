"""A plan and a proof of faults, as tables for people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from cluster.faults.plan import PlannedFault
from cluster.faults.verdict import Evidence, prove

HASH_SHOWN = 12  # of a hash's letters


def plan_body(planned: Sequence[PlannedFault], left_out: Mapping[str, str], seed: int, pages: object) -> dict[str, Any]:
    """For scripts."""
    faults = [{"number": one.number, "kind": one.kind.name, "share": round(one.share, 4)} for one in planned]
    return {"seed": seed, "pages": pages, "faults": faults, "left_out": dict(left_out)}


def plan_view(planned: Sequence[PlannedFault], left_out: Mapping[str, str], seed: int) -> Group:
    """The faults in their order."""
    table = Table(title=f"{len(planned)} faults, seed {seed}", title_justify="left")
    for column in ("", "at", "kind", "what is hit"):
        table.add_column(column, overflow="fold")
    for one in planned:
        table.add_row(str(one.number), f"{one.share:.0%} of the pages", one.kind.name, one.kind.what)
    return Group(table, *_left_out_lines(left_out))


def proof_view(evidence: Evidence, left_out: Mapping[str, str], seed: int) -> Group:
    """Slowest recovery by kind, then what was proved and what was not."""
    kinds = Table(title=f"faults by kind, seed {seed}", title_justify="left")
    for column in ("kind", "done", "seconds until all was well, at most"):
        kinds.add_column(column, overflow="fold", justify="left" if column == "kind" else "right")
    for name in sorted({one.kind for one in evidence.faults}):
        found = [one for one in evidence.faults if one.kind == name]
        done, backs = [one for one in found if one.hit], [one.back for one in found if one.back is not None]
        lost = [one.why for one in found if one.back is None]
        kinds.add_row(name, f"{len(done)} of {len(found)}", "; ".join([*([str(max(backs))] if backs else []), *lost]))
    proof = Table(title="proof", title_justify="left")
    for column in ("", "found", "wanted", "holds"):
        proof.add_column(column, overflow="fold")
    for line in map(asdict, prove(evidence)):
        shown = [_short(line[key]) for key in ("found", "wanted")]
        proof.add_row(line["name"], *shown, "yes" if line["holds"] else "NO")
    return Group(kinds, proof, *_left_out_lines(left_out))


def _left_out_lines(left_out: Mapping[str, str]) -> list[Text]:
    return [Text(f"left out: {name}: {why}") for name, why in sorted(left_out.items())]


def _short(value: object) -> str:
    text = "" if value is None else str(value)
    return text[:HASH_SHOWN] if len(text) == 64 else text
