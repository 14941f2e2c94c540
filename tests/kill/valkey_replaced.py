"""Valkey is killed in the middle of a job and replaced by an empty one: what it held is lost, and nothing else is."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import httpx

from tests.evals.report import Report
from tests.fakes.valkey import Valkey
from tests.instance import ADMIN, sign_in
from tests.kill.ha_work import GOAL, SOON, Fault, Outage, PatientInstance, Work
from tests.kill.main import done_pages, until

SHORT, LONG = 3.0, 30.0  # seconds for which nobody answers there
PAUSED = 4.0
QUESTION = "harbour bridge winter ledger"
VIEWER = "viewer@example.org"


def measure(work: Work, server: Valkey, report: Report) -> None:
    """Replaced at once, then away for half a minute, in one job; and what people may see meanwhile and after."""
    name, seen = f"Valkey replaced, then away for {LONG:g} s", _Seen()
    work.during(name, replace_valkey(work.made, server, seen))
    asked = sum(seen.replies.values())
    answered = seen.replies[httpx.codes.OK]
    whole = asked > 0 and answered == asked
    report.figure(f"{name}: searches answered meanwhile", answered, reference=asked, goal=GOAL, holds=whole)
    report.figure(f"{name}: pages read meanwhile", seen.pages, goal=GOAL, holds=seen.pages > 0)
    see_only_what_they_may(work.made, server, report)


class _Seen:
    """What was seen while nobody answered."""

    def __init__(self) -> None:
        self.replies: Counter[int] = Counter()  # by status, 0 where there was none
        self.pages = 0


def replace_valkey(made: PatientInstance, server: Valkey, seen: _Seen) -> Fault:
    """`kill -9`, and an empty one at the same URL a while later, twice; questions are asked all the while."""

    def ask(seconds: float) -> None:
        until_then = time.monotonic() + seconds
        while time.monotonic() < until_then:
            seen.replies[_status(made)] += 1
            time.sleep(0.5)

    def fault(outage: Outage, meanwhile: Callable[[], None]) -> None:
        before = done_pages(made)
        server.kill()
        ask(SHORT)
        server.start()
        ask(SHORT)
        outage.began = time.monotonic()
        server.kill()
        meanwhile()
        ask(LONG)
        seen.pages = done_pages(made) - before
        server.start()
        outage.over = time.monotonic()

    return fault


def _status(made: PatientInstance) -> int:
    with suppress(httpx.HTTPError):
        body = {"query": QUESTION, "rerank": False}
        return made.http.post("/api/documents/search", json=body, timeout=20).status_code
    return 0


def see_only_what_they_may(made: PatientInstance, server: Valkey, report: Report) -> None:
    """Rights and documents are taken away while Valkey is away, and while it keeps silent and forgets nothing."""
    url = str(made.http.base_url)
    added = made.http.post("/api/users", json={"email": VIEWER, "role": "viewer"})
    added.raise_for_status()
    headers = {"Authorization": f"Bearer {sign_in(url, added.json()['password'], VIEWER)}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as viewer:
        found, _ = search(viewer)
        # Whoever asks first over a connection to the one that was replaced is not told by the cache, nor for a second.
        warm = until(lambda: search(viewer)[1] == "hit", SOON)
        report.figure("the cache remembers before", str(warm), goal=GOAL, holds=warm)
        hidden, deleted, silently = found[:3]
        _take_away_meanwhile(made, viewer, server, report, hidden, deleted)
        _take_away_in_silence(made, viewer, server, report, {hidden, deleted}, silently)


def _take_away_meanwhile(
    made: PatientInstance, viewer: httpx.Client, server: Valkey, report: Report, hidden: str, deleted: str
) -> None:
    """One document is hidden from the viewer and one deleted; then an empty Valkey comes."""
    server.kill()
    _hide(made, hidden)
    made.http.delete(f"/api/documents/{deleted}").raise_for_status()
    gone = until(lambda: not made.rows("select 1 from documents where id = %s", deleted), 60)
    away, outcome = search(viewer)
    leaked = len({hidden, deleted} & set(away))
    right = gone and outcome == "bypass" and bool(away) and not leaked
    name = "found of what is hidden or deleted"
    report.figure(f"without Valkey: {name}", leaked, reference=0, goal=GOAL, holds=right)
    began = time.monotonic()
    server.start()
    warm = until(lambda: search(viewer)[1] == "hit", SOON)
    took = time.monotonic() - began if warm else None
    what = "seconds until an empty Valkey remembers searches"
    report.figure(what, took, unit="s", reference=SOON, goal=GOAL, holds=warm)
    after, _ = search(viewer)
    leaked = len({hidden, deleted} & set(after))
    report.figure(f"out of the new cache: {name}", leaked, reference=0, goal=GOAL, holds=after == away)
    shown = [search(made.http) for _ in range(2)][-1][0]
    right = hidden in shown and deleted not in shown
    report.figure("an administrator finds what is hidden, and nothing deleted", str(right), goal=GOAL, holds=right)


def _take_away_in_silence(
    made: PatientInstance, viewer: httpx.Client, server: Valkey, report: Report, before: set[str], silently: str
) -> None:
    """One more is hidden while Valkey answers nobody and keeps what it has."""
    server.pause()
    began = time.monotonic()
    _hide(made, silently)
    leaked = {silently} & set(search(viewer)[0])
    took = time.monotonic() - began
    time.sleep(PAUSED)
    server.pause(resumes=True)

    def remembered() -> bool:
        listed, outcome = search(viewer)
        leaked.update({silently, *before} & set(listed))
        return outcome == "hit"

    warm = until(remembered, SOON)
    report.figure("a silent Valkey: a change of readers and a search take", took, unit="s")
    name = "a Valkey that was silent and forgot nothing: found of what is hidden or deleted"
    report.figure(name, len(leaked), reference=0, goal=GOAL, holds=warm and not leaked)


def _hide(made: PatientInstance, document: str) -> None:
    readers = {"readers": [f"user:{ADMIN}"]}
    made.http.put(f"/api/documents/{document}/readers", json=readers).raise_for_status()


def search(http: httpx.Client) -> tuple[list[str], str]:
    """Documents that are found, and what the cache did."""
    body = {"query": QUESTION, "rerank": False, "limit": 20, "explain": True}
    reply = http.post("/api/documents/search", json=body, timeout=30)
    reply.raise_for_status()
    shown = reply.json()
    found = dict.fromkeys(hit["document_id"] for hit in shown["results"])
    return list(found), str(shown["explain"]["cache"]["outcome"])
