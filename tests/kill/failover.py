"""`make test-ha`: a Postgres primary, Valkey and Ray's head are taken away in the middle of a job; others take over."""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path

from tests.evals.report import Report
from tests.fakes.postgres_pair import PostgresPair, postgres_pair
from tests.fakes.valkey import valkey
from tests.instance import AOS
from tests.kill import head_restart, valkey_replaced
from tests.kill.ha_work import GOAL, Fault, Outage, PatientInstance, Work, working
from tests.kill.main import until

DETECTED_SECONDS = 5.0  # until whoever watches the primary promotes its standby
PARTS = ("valkey", "postgres", "head")


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


def servers(place: Path, report: Report, chosen: Collection[str]) -> None:
    """Both servers are somebody else's: two of Postgres in one URL, and a Valkey; each is taken away in its turn."""
    with postgres_pair() as pair, valkey(place) as redis:
        pair.follow()
        urls = {"DATABASE_URL": pair.url("aos_app"), "DATABASE_ADMIN_URL": pair.url("postgres"), "REDIS_URL": redis.url}
        with working(place, report, **urls) as work:
            if "valkey" in chosen:
                valkey_replaced.measure(work, redis, report)
            if "postgres" in chosen:
                lose_postgres(work, pair, report)


def lose_postgres(work: Work, pair: PostgresPair, report: Report) -> None:
    """The second server takes over, the first comes back as if nothing had been, and becomes its standby at last."""
    colour, told = doctors_word(work.made)
    report.figure("aos doctor, of two servers", colour, reference=told, goal=GOAL, holds=colour == "green")
    work.during("Postgres failed over", lose_primary(pair))
    colour, told = doctors_word(work.made)
    report.figure("aos doctor, of one of two", colour, reference=told, goal=GOAL, holds=colour == "yellow")
    former_comes_back(work, pair, report)
    pair.primary.kill()
    pair.primary.rewind(pair.standby)
    pair.primary.start()
    pair.standby.require_standby()
    followed = until(lambda: doctors_word(work.made)[0] == "green", 60)
    colour, told = doctors_word(work.made)
    report.figure("aos doctor, of a former primary that follows", colour, reference=told, goal=GOAL, holds=followed)


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


def main() -> int:
    """The servers on one instance, the head on another one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="leave the others out")
    chosen = parser.parse_args().only or PARTS
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # also then what was started is stopped
    report, began, ended = Report("ha", part=set(chosen) != set(PARTS)), time.monotonic(), False
    try:
        with tempfile.TemporaryDirectory(prefix="aos-ha-") as place:
            if set(chosen) & {"postgres", "valkey"}:
                servers(Path(place), report, chosen)
        with tempfile.TemporaryDirectory(prefix="aos-ha-") as place:
            if "head" in chosen:
                head_restart.measure(Path(place), report)
        ended = True
    finally:
        if not ended:  # what was measured until then is shown, and what was not is no success
            report.figure("to its end", "broken off", goal=GOAL, holds=False)
            report.finish()
    report.figure("time", (time.monotonic() - began) / 60, unit="min")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
