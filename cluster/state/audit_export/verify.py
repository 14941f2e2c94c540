"""Verification of an exported trail from its lines alone: order, gaps, hashes, and who comes after whom."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cluster.state.audit_export.chain import ChainedEntry, parse_json
from cluster.state.audit_export.ocsf import OUTCOMES, ocsf_event

MOST_FLAWS = 100
RECENT = 10_000  # entries of a chain that may come again; a collector has no more of them unconfirmed


@dataclass(slots=True)
class ChainState:
    """How far the chain of one tenant has been followed."""

    first: int
    last: int
    hash: str
    recent: deque[str]


@dataclass(slots=True)
class ChainReport:
    """What was found in the lines that were read.

    Attributes:
        entries: how many different ones.
        repeated: how many lines were the same entry once more, as a collector has them after a lost confirmation.
        unhashed: entries whose details were too long to be sent or have lost a name; their links were checked, and not
            their own hashes.
        flaws: at most the first hundred, each with its line; `flawed` counts them all.
        chains: by tenant.
    """

    entries: int = 0
    repeated: int = 0
    unhashed: int = 0
    flawed: int = 0
    flaws: list[str] = field(default_factory=list)
    chains: dict[str, ChainState] = field(default_factory=dict)

    @property
    def intact(self) -> bool:
        """True where every line is an entry in its place."""
        return not self.flawed

    def add(self, number: int, entry: ChainedEntry, computed: str | None) -> None:
        """Check the entry of a line against those before it; `computed`: the hash that it should have."""
        chain = self.chains.get(entry.tenant)
        if chain is not None and entry.seq <= chain.last:
            self._check_repeated(number, entry, computed, chain)
            return
        self.entries += 1
        self.unhashed += computed is None
        if computed not in (None, entry.hash):
            self.blame(number, f"entry {entry.seq} was altered")
        if chain is None:
            chain = ChainState(entry.seq, entry.seq, entry.hash, deque(maxlen=RECENT))
            self.chains[entry.tenant] = chain
            if (entry.seq == 1) != (entry.previous == ""):
                self.blame(number, f"entry {entry.seq}: its link does not fit its number")
        elif entry.seq != chain.last + 1:
            self.blame(number, f"after entry {chain.last} comes entry {entry.seq}")
            chain.recent.clear()
        elif entry.previous != chain.hash:
            self.blame(number, f"entry {entry.seq} does not follow the entry before it")
        chain.last, chain.hash = entry.seq, entry.hash
        chain.recent.append(entry.hash)

    def blame(self, number: int, what: str) -> None:
        """Count a flaw."""
        self.flawed += 1
        if len(self.flaws) < MOST_FLAWS:
            self.flaws.append(f"line {number}: {what}")

    def _check_repeated(self, number: int, entry: ChainedEntry, computed: str | None, chain: ChainState) -> None:
        """The same entry once more does no harm; another one with its number does."""
        self.repeated += 1
        back = chain.last - entry.seq
        if back >= len(chain.recent):
            self.blame(number, f"entry {entry.seq} comes after entry {chain.last}")
        elif entry.hash != chain.recent[-1 - back] or computed not in (None, entry.hash):
            self.blame(number, f"entry {entry.seq} comes again, and is another one")


def verify_lines(lines: Iterable[str]) -> ChainReport:
    """Check the lines of a file, of one tenant or of several that are mixed. It holds one line at a time."""
    report = ChainReport()
    for number, line in _numbered(lines):
        try:
            found = parse_json(line)
            entry = ChainedEntry.from_json(found)
            computed = entry.computed
            agrees = "unmapped" not in found or _agrees(found, entry)
        except (ValueError, OverflowError, RecursionError) as error:
            report.blame(number, str(error)[:200])
            continue
        report.add(number, entry, computed)
        if not agrees:
            report.blame(number, f"entry {entry.seq}: the event says something else than the entry in it")
    return report


def _agrees(event: Mapping[str, Any], entry: ChainedEntry) -> bool:
    """True where the event is the one that the entry leads to; what a collector added to it does not count."""
    actor = event.get("actor", {})
    email = actor.get("user", {}).get("email_addr") if isinstance(actor, dict) else None
    if entry.outcome not in OUTCOMES:
        return False
    wanted = ocsf_event(replace(entry, email=email))
    return all(event.get(name) == value for name, value in wanted.items())


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, 1) if line.strip())
