"""Syncs of one kind of source: 2,000 items, what changed, the same under kills, and a source that lies."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.basics.scope import Role
from pipelines.documents.sources.item_rights import NOBODY
from tests.evals.report import Report
from tests.kill.sites.site_port import Site
from tests.kill.sync_desk import ENDS, MARK, VICTIMS, SyncDesk

GOAL = (
    "For each connector with a real server: 2,000 items, then 200 adds, 100 changes, 100 deletes, 50 renames, 20 rights"
    " changes: the second sync reads ≤ 300 items, ends equal to the source (ids, versions, rights), and again after 10"
    " random kills of worker, gateway, Postgres or source in the middle: 0 lost, 0 doubled, 0 resurrected."
)
LIES = "A source that lies (empty list, 500s, half a listing, clock skew, changed ids): 0 documents deleted."
ITEMS = 2000
ADDS, CHANGES, DELETES, RENAMES, RIGHTS = 200, 100, 100, 50, 20
MOST_READ = 300
LIED_TO = 100  # documents of the source that lies
UNITS = 4 * (ADDS + CHANGES)  # fetched, surveyed, read and indexed


@dataclass
class Shelf:
    """Items by number, as a site has them: id, version, and who may see it."""

    site: Site
    people: tuple[str, ...]
    rng: random.Random
    ids: dict[int, str] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    next: int = 0
    remade: set[int] = field(default_factory=set)  # changed or renamed since, where the kind takes it for another item

    @property
    def share(self) -> float:
        return min(1.0, len(self.ids) / ITEMS)

    def add(self, count: int) -> list[int]:
        numbers = list(range(self.next, self.next + count))
        self.next += count
        for number in numbers:
            self.ids[number], self.versions[number] = f"p{number % 7}/{number:05}.txt", 1
            self.write(number)
            self.site.set_rights(self.ids[number], (self.people[number % len(self.people)],))
        return numbers

    def write(self, number: int) -> None:
        mark = f"mk{number}v{self.versions[number]}x"
        self.site.put(self.ids[number], f"Paper {number} tells of harbour {number % 97}: {mark}.\n".encode())

    def delete(self, number: int) -> None:
        self.site.delete(self.ids.pop(number))

    def change_some(self) -> None:
        """Adds, changes, deletes, renames and rights, each of other items; fewer where there are fewer than 2,000."""
        share = self.share
        counts = [round(count * share) for count in (CHANGES, DELETES, RENAMES, RIGHTS)]
        chosen = self.rng.sample(sorted(self.ids), sum(counts))
        parts = [[chosen.pop() for _ in range(count)] for count in counts]
        for number in parts[0]:
            self.versions[number] += 1
            self.write(number)
            self._remake(number, self.site.keeps_changed)
        for number in parts[1]:
            self.delete(number)
        for number in parts[2]:
            before, after = self.ids[number], f"moved{self.next}/{number:05}.txt"
            self.site.rename(before, after)
            self.ids[number] = after
            self._remake(number, self.site.keeps_moved)
        for number in parts[3]:
            self.site.set_rights(self.ids[number], self.people[number % 2 :][:2])
        self.add(round(ADDS * share))

    def _remake(self, number: int, keeps: bool) -> None:
        if not keeps:
            self.remade.add(number)

    def marks(self) -> dict[str, tuple[str, ...]]:
        """Marks of what lies there, by the site's own word, with who may see it."""
        return {MARK.findall(body.decode(errors="replace"))[0]: who for body, who in self.site.truth().values()}


@dataclass(frozen=True)
class Difference:
    """What a source and its documents differ by."""

    lost: int
    doubled: int
    resurrected: int
    rights: int
    others: int  # items of before that are other documents now
    remade: int  # of those whose kind cannot tell them: other documents, as has to be

    @property
    def none(self) -> bool:
        return not (self.lost or self.doubled or self.resurrected or self.rights or self.others)

    def __str__(self) -> str:
        return (
            f"{self.lost} lost, {self.doubled} doubled, {self.resurrected} resurrected, {self.rights} with other"
            f" rights, {self.others} with another id"
            + (f"; {self.remade} changed or renamed are other documents: it cannot tell" if self.remade else "")
        )


@dataclass
class Comparison:
    """Compares a source with its documents, again and again; an item is the same document each time."""

    desk: SyncDesk
    shelf: Shelf
    source: str
    known: dict[int, str] = field(default_factory=dict)

    def look(self) -> Difference:
        truth, found = self.shelf.marks(), self.desk.found(self.source)
        doubled = sum(len(documents) > 1 for documents in found.documents.values())
        wrong = 0
        for mark, people in truth.items():
            if (document := found.of(mark)) is not None and self.shelf.site.has_rights:
                wrong += found.readers[document] != (tuple(sorted(f"user:{who}" for who in people)) or (NOBODY,))
        ids = {int(mark[2:].partition("v")[0]): documents[0] for mark, documents in found.documents.items()}
        others = {number for number, document in self.known.items() if ids.get(number, document) != document}
        self.known, excused, self.shelf.remade = ids, others & self.shelf.remade, set()
        lost, more = truth.keys() - found.documents.keys(), found.documents.keys() - truth.keys()
        return Difference(len(lost), doubled, len(more) + found.unmarked, wrong, len(others - excused), len(excused))


def measure(desk: SyncDesk, report: Report, kind: str, open_site: Callable[[Path], Any], **how: Any) -> None:
    """One kind of source through all of it; `items`, `kills`, `seed`."""
    people = tuple(desk.office.emails[role] for role in (Role.VIEWER, Role.OPERATOR, Role.DEVELOPER))
    rng = random.Random(f"{kind} {how['seed']}")
    with open_site(desk.base) as site:
        shelf = Shelf(site, people, rng)
        shelf.add(how["items"])
        site.settle()
        source = desk.add_source(f"{kind}-{how['seed']}", site)
        compared = Comparison(desk, shelf, source)
        began = time.monotonic()
        _, state = desk.sync(source, 600)
        took, told = time.monotonic() - began, compared.look()
        held = state == "completed" and told.none
        report.figure(f"{kind}: first sync of {how['items']} items", str(told), goal=GOAL, holds=held)
        report.figure(f"{kind}: first sync", took, unit="s")
        shelf.change_some()
        site.settle()
        job, state = desk.sync(source)
        reads, told = desk.fetched(job), compared.look()
        held = state == "completed" and told.none
        most = MOST_READ if site.keeps_moved else MOST_READ + RENAMES
        name = f"{kind}: items read by the second sync"
        report.figure(name, reads, reference=MOST_READ, goal=GOAL, holds=reads <= most)
        if not site.keeps_moved:
            again = f"{told.remade} are other documents, read again: it does not tell what was renamed"
            report.figure(f"{kind}: renames", again)
        report.figure(f"{kind}: second sync", str(told), goal=GOAL, holds=held)
        if not site.has_rights:
            report.figure(f"{kind}: rights", "none: it does not say who may see its items")
        under_kills(desk, report, kind, compared, rng, how["kills"])
    with open_site(desk.base) as site:
        lied_to(desk, report, kind, Shelf(site, people, rng))


def under_kills(
    desk: SyncDesk, report: Report, kind: str, compared: Comparison, rng: random.Random, count: int
) -> None:
    """The same changes again, and somebody is killed at random moments of their sync."""
    shelf, source = compared.shelf, compared.source
    goals = sorted(rng.sample(range(int(UNITS * shelf.share * 0.8)), count))
    victims = [*VICTIMS * (count // len(VICTIMS)), *rng.choices(VICTIMS, k=count % len(VICTIMS))]
    rng.shuffle(victims)
    shelf.change_some()
    shelf.site.settle()
    job = desk.begin_sync(source)
    killed, inside = Counter[str](), 0
    began = time.monotonic()
    for goal, victim in zip(goals, victims, strict=True):
        state = desk.wait(source, job, 300, lambda goal=goal: desk.settled(job) >= goal)  # type: ignore[misc]
        inside += state not in ENDS
        desk.kill(victim, shelf.site, rng.uniform(0.2, 1.5))
        killed[victim] += 1
    state = desk.wait(source, job)
    desk.rest(source)
    at_once = compared.look()
    took = time.monotonic() - began
    again, last = desk.sync(source)
    told, reads = compared.look(), desk.fetched(again)
    told_of = ", ".join(f"{name} {number}" for name, number in sorted(killed.items()))
    report.figure(
        f"{kind}: kills while its sync ran", inside, reference=f"{count}: {told_of}", goal=GOAL, holds=inside == count
    )
    held = state == "completed" and at_once.none
    report.figure(f"{kind}: the sync that was killed, {state}", str(at_once), goal=GOAL, holds=held)
    report.figure(f"{kind}: after the next sync, {last}", str(told), goal=GOAL, holds=told.none)
    report.figure(f"{kind}: items that the next sync reads", reads, reference=0, goal=GOAL, holds=reads == 0)
    report.figure(f"{kind}: sync under kills", took, unit="s")


def lied_to(desk: SyncDesk, report: Report, kind: str, shelf: Shelf) -> None:
    """Whatever the source says, nothing that was there is hidden or deleted."""
    shelf.add(LIED_TO)
    shelf.site.settle()
    source = desk.add_source(f"{kind}-lies", shelf.site)
    desk.sync(source)
    before = visible(desk, source)
    assert len(before) == LIED_TO, f"{kind}: {len(before)} of {LIED_TO} documents"
    for name, lie in lies_of(shelf).items():
        with lie:
            shelf.site.settle()
            job = desk.begin_sync(source)
            state = desk.wait(source, job, 120, lambda job=job: desk.waits(job))  # type: ignore[misc]
            if state not in ENDS:
                for one in desk.open_jobs(source):
                    desk.ask("POST", f"/api/jobs/{one}/cancel")
            desk.rest(source, 60)
            left = visible(desk, source)
            deleted = len(before - left)
            said = state if state in ENDS else f"{state}, waits for the source"
            report.figure(f"{kind}: documents deleted, {name}", deleted, reference=said, goal=LIES, holds=not deleted)
    shelf.site.settle()
    truth, found = shelf.marks(), desk.found(source)
    desk.sync(source)
    back = sum(mark not in found.documents for mark in truth)
    report.figure(f"{kind}: documents missing once it tells the truth", back, goal=LIES, holds=not back)


def visible(desk: SyncDesk, source: str) -> set[str]:
    """Ids of documents of the source that readers see."""
    return set(desk.found(source).readers)


def lies_of(shelf: Shelf) -> Mapping[str, Any]:
    """Lies by name, each told while its block runs."""
    site, ids = shelf.site, list(shelf.ids.values())
    kept: dict[str, bytes] = {}

    @contextmanager
    def without(chosen: list[str], move: bool = False) -> Iterator[None]:
        kept.clear()
        truth = site.truth()
        for id_ in chosen:
            body, people = truth[id_]
            kept[id_] = body
            site.delete(id_)
            if move:  # the same items under other ids, and nothing tells that they are the same
                site.put(f"other/{id_.replace('/', '-')}", body + b" ")
                site.set_rights(f"other/{id_.replace('/', '-')}", people)
        try:
            yield
        finally:
            for id_, body in kept.items():
                if move:
                    site.delete(f"other/{id_.replace('/', '-')}")
                site.put(id_, body)
                site.set_rights(id_, truth[id_][1])

    @contextmanager
    def away() -> Iterator[None]:
        site.stop()
        try:
            yield
        finally:
            site.start()

    @contextmanager
    def failing() -> Iterator[None]:
        site.errors(True)
        try:
            yield
        finally:
            site.errors(False)

    @contextmanager
    def skewed(year: int) -> Iterator[None]:
        for id_ in ids:
            site.touch(id_, year)
        yield

    return {
        "nobody answers": away(),
        "500s": failing(),
        "an empty list": without(ids),
        "half a listing": without(ids[::2]),
        "clock 25 years back": skewed(2001),
        "clock 23 years ahead": skewed(2049),
        "changed ids": without(ids, move=True),
        **site.own_lies(),
    }
