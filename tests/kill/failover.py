"""`make test-ha`: a Postgres primary, Valkey and Ray's head are taken away in the middle of a job; others take over."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.evals.report import Report
from tests.fakes.postgres_pair import PostgresPair, postgres_pair
from tests.fakes.valkey import Valkey, valkey
from tests.instance import AOS
from tests.kill import head_restart
from tests.kill.ha_work import GOAL, Fault, Outage, PatientInstance, Work, working
from tests.kill.main import until

DETECTED_SECONDS = 5.0  # until whoever watches the primary promotes its standby
AWAY_SECONDS = 8.0  # of a Valkey
FENCED = "GET /api/documents"
PARTS = ("postgres", "valkey", "head")


def lose_primary(pair: PostgresPair) -> Fault:
    """`kill -9` of all of the primary; a while later its standby is promoted."""

    def fault(outage: Outage, meanwhile: Callable[[], None]) -> None:
        outage.began = time.monotonic()
        pair.primary.kill()
        meanwhile()
        time.sleep(DETECTED_SECONDS)
        pair.standby.promote()
        outage.over = time.monotonic()

    return fault


def doctors_word(made: PatientInstance) -> tuple[str, str]:
    """What `aos doctor` says of the standby: its colour and the detail."""
    done = subprocess.run([AOS, "doctor", "--json"], env=made.env, capture_output=True, text=True, check=False)
    found = [one for one in json.loads(done.stdout)["findings"] if one["part"] == "postgres standby"]
    return (found[0]["colour"], found[0]["detail"]) if found else ("missing", done.stdout[-500:])


def postgres(place: Path, report: Report) -> None:
    """Two servers in one URL; the second takes over, and the first comes back as if nothing had been."""
    with postgres_pair() as pair:
        pair.follow()
        urls = {"DATABASE_URL": pair.url("aos_app"), "DATABASE_ADMIN_URL": pair.url("postgres")}
        with working(place, report, **urls) as work:
            colour, told = doctors_word(work.made)
            report.figure("aos doctor, of two servers", colour, reference=told, goal=GOAL, holds=colour == "green")
            work.during("Postgres failed over", lose_primary(pair))
            colour, told = doctors_word(work.made)
            report.figure("aos doctor, of one of two", colour, reference=told, goal=GOAL, holds=colour == "yellow")
            former_comes_back(work, pair, report)


def former_comes_back(work: Work, pair: PostgresPair, report: Report) -> None:
    """The former primary takes writes again, and is the first of the URL: nobody gives it any."""
    with (pair.primary.folder / "postgresql.auto.conf").open("a", encoding="utf-8") as conf:
        conf.write("synchronous_standby_names = ''\n")
    pair.primary.start()
    counted = "select (select count(*) from events), (select count(*) from jobs), (select count(*) from messages)"
    before = pair.primary.rows(counted)
    again = work.made.ingest(work.scans)
    work.chaos.begin("keyed-901")
    asked = work.made.http.post("/api/admin/restart-hint", json={"parts": ["worker"]}).json()["state"]
    report.figure("a restart asked for beside it is", asked, reference="rolling", goal=GOAL, holds=asked == "rolling")
    time.sleep(5)
    same = pair.primary.rows(counted) == before
    report.figure("a former primary that takes writes again got none", str(same), goal=GOAL, holds=same)
    colour, told = doctors_word(work.made)
    report.figure("aos doctor, of two primaries", colour, reference=told, goal=GOAL, holds=colour == "red")
    kept = again["state"] == "completed" and again["pages"]["expected"] in (0, again["pages"]["done"])
    report.figure("the same folder ingested beside it", again["state"], goal=GOAL, holds=kept)


def replace_valkey(server: Valkey) -> Fault:
    """`kill -9`, and an empty one at the same place a while later."""

    def fault(outage: Outage, meanwhile: Callable[[], None]) -> None:
        outage.began = time.monotonic()
        server.kill()
        meanwhile()
        time.sleep(AWAY_SECONDS)
        server.start()
        outage.over = time.monotonic()

    return fault


def search(made: PatientInstance, question: str) -> tuple[list[str], str]:
    """Documents that are found, and what the cache did."""
    reply = made.http.post("/api/documents/search", json={"query": question, "rerank": False}, timeout=30)
    reply.raise_for_status()
    shown = reply.json()
    return [hit["document_id"] for hit in shown["results"]], str((shown.get("cache") or {}).get("outcome"))


def redis(place: Path, report: Report) -> None:
    """What it held is lost: counts of requests, what was remembered of searches. Nothing else is."""
    with valkey(place) as server:
        limits = {"AOS_LIMITS_ENABLED": "true", "AOS_LIMITS_READS": "100000", "AOS_LIMITS_REQUESTS": "120"}
        with working(place, report, REDIS_URL=server.url, **limits, AOS_LIMITS_CHAT="1000") as work:
            work.during("Valkey replaced", replace_valkey(server))
            forgets(work, server, report)


def forgets(work: Work, server: Valkey, report: Report) -> None:
    """A document is deleted while Valkey is away: no later answer of a cache has it. Limits hold all the while."""
    made, question = work.made, "harbour bridge winter ledger"
    before, _ = search(made, question)
    _, remembered = search(made, question)
    server.kill()
    away, _ = search(made, question)
    report.figure("found without Valkey as with it", len(away), reference=len(before), goal=GOAL, holds=away == before)
    gone = before[0]
    deleted = made.http.delete(f"/api/documents/{gone}")
    until(lambda: not made.rows("select 1 from documents where id = %s", gone), 60)
    refused = refusals(made, 150)
    server.start()
    time.sleep(2)  # it is asked again a second after it failed
    made.http.get("/api/documents")
    after = [search_patiently(made, question)[0] for _ in range(2)]
    clean = deleted.is_success and bool(after[0]) and not any(gone in found for found in after)
    report.figure("a cache that was remembering before", remembered)
    report.figure("found after its deletion", sum(gone in found for found in after), goal=GOAL, holds=clean)
    report.figure(
        "refused of 150 questions where 120 a minute are free, without Valkey", refused, goal=GOAL, holds=refused > 0
    )


def search_patiently(made: PatientInstance, question: str) -> tuple[list[str], str]:
    """As `search`, after as long as a limit wants."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return search(made, question)
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.TOO_MANY_REQUESTS or time.monotonic() > deadline:
                raise
            time.sleep(float(error.response.headers.get("retry-after", "2")))


def refusals(made: PatientInstance, count: int) -> int:
    """How many of so many searches are refused by a limit."""
    body = {"query": "harbour", "rerank": False}
    told = [made.http.post("/api/documents/search", json=body, timeout=30).status_code for _ in range(count)]
    return told.count(httpx.codes.TOO_MANY_REQUESTS)


def main() -> int:
    """Each part on an instance of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="leave the others out")
    chosen = parser.parse_args().only or PARTS
    report = Report("test-ha", part=set(chosen) != set(PARTS))
    steps = {"postgres": postgres, "valkey": redis, "head": head_restart.measure}
    for name, step in steps.items():
        if name in chosen:
            ended = False
            try:
                with tempfile.TemporaryDirectory(prefix="aos-ha-") as place:
                    step(Path(place), report)
                ended = True
            finally:
                if not ended:  # what was measured until then is shown, and what was not is no success
                    report.figure(f"{name}: to its end", "broken off", goal=GOAL, holds=False)
                    report.finish()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
