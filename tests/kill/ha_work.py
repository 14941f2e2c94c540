"""A job, approvals and a story that is being told, while a server or a node is taken away; and what came of them."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from cluster.basics.errors import Unavailable
from cluster.state.db.embedded import resolve_endpoints, timeline_fence
from cluster.state.db.primary import connect_primary_blocking
from tests.evals.report import Report
from tests.fakes.marks import Marks
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say
from tests.instance import Instance, instance
from tests.kill.approvals import ENDS, Chaos, configured, talk
from tests.kill.main import chunk_ids, clean, done_pages, pages, until
from tests.kill.scans import make_scans

GOAL = (
    "a Postgres primary killed and failed over (two embedded servers), Redis/Valkey replaced, a head node restarted:"
    " jobs page-exact, runs resumed, agents' effects once."
)
SOON = 60.0  # seconds until all goes on
DOCUMENTS, PAGES = 12, 5
LEASE = 5.0
STORY = " ".join(f"Chapter {n} begins, and nobody knows how it ends." for n in range(1, 11))
SETTINGS = {
    "AOS_AGENTS_PLACEMENT": "serve",
    "AOS_AGENTS_LEASE_SECONDS": str(LEASE),
    "AOS_AGENTS_HEARTBEAT_SECONDS": "1",
    "AOS_AGENTS_PLANNING_ENABLED": "false",
    "AOS_MEMORY_EXTRACT_FACTS": "false",
    "AOS_WORKER_LEASE_SECONDS": "6",
    "AOS_WORKER_HEARTBEAT_SECONDS": "1",
    "AOS_READ_READERS": "2",
    "AOS_GATE_QUESTIONS": "0",
    "OCR_STRATEGY": "tesseract",
    "LLM_DEFAULT_MODEL": "scripted-1",
    "LLM_API_KEY": "none",
}


@dataclass(frozen=True, slots=True)
class PatientInstance(Instance):
    """Whose database may be away for a while, and whose former one may be back."""

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """As its class, of the server that the product writes to; asked again for two minutes."""
        deadline = time.monotonic() + 120
        while True:
            try:
                admin, fence = resolve_endpoints(self.settings).postgres_admin, timeline_fence(self.settings)
                with connect_primary_blocking(admin or "", fence) as connection:
                    return connection.execute(query.encode(), values).fetchall()
            except (Unavailable, psycopg.OperationalError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)

    @classmethod
    def of(cls, made: Instance) -> "PatientInstance":
        """The same one."""
        return cls(made.settings, made.env, made.http, made.up_seconds)


@dataclass
class Outage:
    """How long something was away, in moments of `time.monotonic`."""

    began: float = 0.0
    over: float = 0.0


# Returns when a successor is there, and calls what it is given while none is.
Fault = Callable[[Outage, Callable[[], None]], None]


@dataclass
class Work:
    """What goes on meanwhile."""

    made: PatientInstance
    chaos: Chaos
    scans: Path
    report: Report
    expected: list[str] = field(default_factory=list)
    count: int = 0
    dead: list[threading.Thread] = field(default_factory=list)

    def undisturbed(self) -> None:
        """The same job with nothing amiss."""
        ended = self.made.ingest(self.scans)
        self.expected = chunk_ids(self.made)
        wanted = DOCUMENTS * PAGES
        self.report.figure("undisturbed: pages done", ended["pages"]["done"], reference=wanted)

    def during(self, name: str, fault: Fault, soon: float | None = SOON) -> None:
        """Do all of it, with the fault in its middle, and judge; `soon`: seconds in which all has to go on."""
        labels = [f"{'keyed' if n % 2 else 'plain'}-{self.count + n}" for n in range(1, 7)]
        story = f"story-{self.count}"
        self.count += 10
        threads = [threading.Thread(target=self.chaos.begin, args=(label,)) for label in labels]
        _run_all(threads)
        waiting = {label: approval for approval, label in self.chaos.pending("approval").items() if label in labels}
        clean(self.made)
        job = self.made.ingest(self.scans, wait=None)["job_id"]
        until(lambda: done_pages(self.made) >= DOCUMENTS * PAGES // 5, 300)
        acting = [
            threading.Thread(target=self.tell, args=(story,)),
            threading.Thread(target=self.decide, args=(labels[0], waiting.get(labels[0], ""))),
        ]
        for thread in acting:
            thread.start()
        stop = threading.Event()
        looking = threading.Thread(target=self.chaos.reconcile, args=(stop,), daemon=True)
        looking.start()
        time.sleep(0.8)  # the tool is at work, and the story is being told

        def meanwhile() -> None:
            """The others are decided now, by people whom nobody answers."""
            for label in labels[1:]:
                acting.append(threading.Thread(target=self.decide, args=(label, waiting.get(label, ""))))
                acting[-1].start()

        wanted, done = DOCUMENTS * PAGES, done_pages(self.made)
        name_of_done, midway = f"{name}: pages done when it was taken away", 0 < done < wanted
        self.report.figure(name_of_done, done, reference=f"< {wanted}", goal=GOAL, holds=midway)
        outage = Outage()
        fault(outage, meanwhile)
        self._measure(name, job, outage, soon)
        ended = self.made.wait(job, 600)
        for thread in acting:
            thread.join()
        self._settle([*labels, story])
        stop.set()
        looking.join()
        self._judge(name, ended, labels, story)

    def decide(self, label: str, approval: str) -> None:
        """All are approved but the last one."""
        decision = "reject" if label.endswith("6") else "approve"
        self.chaos.patiently("POST", f"/api/approvals/{approval}", json={"decision": decision})

    def tell(self, label: str) -> None:
        """Have a story told to its end, and a run that broke off resumed."""
        while (state := self.state(label)) not in ENDS:
            with contextlib.suppress(httpx.HTTPError):
                if state == "":
                    body = {"message": f"Please tell {label} now.", "use_rag": False, "stream": False}
                    self.made.http.post("/api/chat/assistant", json=body, timeout=60)
                elif state == "interrupted":
                    self.made.http.post(f"/api/runs/{self._run(label)}/resume", timeout=60)
            time.sleep(0.3)

    def state(self, label: str) -> str:
        """Of the newest run whose message has this label; empty where there is none."""
        rows = self._runs(label)
        return str(rows[0][1]) if rows else ""

    def _run(self, label: str) -> str:
        return str(self._runs(label)[0][0])

    def _runs(self, label: str) -> list[tuple[Any, ...]]:
        found = "select id, state from runs where input->>'message' like %s order by created_at desc"
        return self.made.rows(found, f"%{label} %")

    def _settle(self, labels: list[str]) -> None:
        until(lambda: all(self.state(label) in ENDS for label in labels), 180)

    def _measure(self, name: str, job: str, outage: Outage, soon: float | None) -> None:
        """From the moment at which it was taken away: until the API tells of the job, and the job goes on."""
        before = done_pages(self.made)
        answers = until(lambda: _told(self.made, job), 240)
        first = time.monotonic() - outage.began if answers else None
        went_on = until(lambda: done_pages(self.made) > before or before == DOCUMENTS * PAGES, 240)
        took = time.monotonic() - outage.began if went_on else None
        away = outage.over - outage.began
        self.report.figure(f"{name}: seconds until a successor was there", away, unit="s")
        for what, value in (("the API answers", first), ("the job goes on", took)):
            holds = value is not None and (soon is None or value <= soon)
            self.report.figure(f"{name}: seconds until {what}", value, unit="s", reference=soon, goal=GOAL, holds=holds)

    def _judge(self, name: str, ended: dict[str, Any], labels: list[str], story: str) -> None:
        report, effects = self.report, self.chaos.marks.effects()
        total, distinct = pages(self.made)
        wanted = DOCUMENTS * PAGES
        whole = ended["state"] == "completed" and total == distinct == wanted
        report.figure(f"{name}: pages", total, reference=wanted, goal=GOAL, holds=whole)
        same = chunk_ids(self.made) == self.expected
        report.figure(f"{name}: the same chunks as undisturbed", str(same), goal=GOAL, holds=same)
        verdicts = dict(self.made.rows("select arguments->>'label', state from approvals where category = 'approval'"))
        approved = [label for label in labels if verdicts.get(label) == "approved"]
        once = [label for label in approved if effects[label] == 1]
        shown = [label for label in approved if not effects[label] and label in self.chaos.doubts]
        report.figure(
            f"{name}: approved, and executed once",
            len(once),
            reference=len(labels) - 1,
            goal=GOAL,
            holds=len(approved) == len(labels) - 1 and len(once) + len(shown) == len(approved),
        )
        wrong = [label for label in labels if effects[label] > 1 or (effects[label] and label not in approved)]
        report.figure(f"{name}: executed twice, or though denied", len(wrong), reference=0, goal=GOAL, holds=not wrong)
        states = [self.state(label) for label in (*labels, story)]
        completed = states.count("completed")
        report.figure(
            f"{name}: runs completed", completed, reference=len(states), goal=GOAL, holds=completed == len(states)
        )
        told = self.made.rows(
            "select count(*) from messages where role = 'assistant' and strpos(content::text, %s) > 0"
            " and session_id = (select session_id from runs where id = %s)",
            STORY,
            self._run(story),
        )
        report.figure(
            f"{name}: the story is told whole, and once", told[0][0], reference=1, goal=GOAL, holds=told == [(1,)]
        )
        ((gaps,),) = self.made.rows(
            "select count(*) from (select stream from events group by stream"
            " having count(*) <> max(seq) - min(seq) + 1) broken"
        )
        report.figure(f"{name}: streams of events with a gap", gaps, reference=0, goal=GOAL, holds=gaps == 0)


def _told(made: Instance, job: str) -> bool:
    try:
        return made.http.get(f"/api/jobs/{job}", timeout=5).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def narrate(folder: Path) -> Callable[[Any], Say]:
    """As `talk`, and a story where one is wanted: word by word, for some ten seconds."""
    acts = talk(folder)

    def answer(body: Any) -> Say:
        last = next((str(one.get("content")) for one in reversed(body["messages"]) if one["role"] == "user"), "")
        return Say(STORY, between=0.2) if "story-" in last else acts(body)

    return answer


@contextmanager
def working(place: Path, report: Report, **settings: str) -> Iterator[Work]:
    """A product with recording tools, and what it is to work on."""
    with configured(place) as path, scripted(place) as (marks, url):
        environment = SETTINGS | {"PYTHONPATH": path, "LLM_BASE_URL": url} | settings
        with instance(**environment) as started:
            yield work_on(started, marks, place, report)


@contextmanager
def scripted(place: Path) -> Iterator[tuple[Marks, str]]:
    """A model that calls the recording tools and tells stories; where its tools leave marks, and its URL."""
    marks = Marks(place / "outside")
    with serve_model(narrate(marks.folder)) as model:
        yield marks, model.url


def work_on(started: Instance, marks: Marks, place: Path, report: Report) -> Work:
    """The scans, and the job as it is undisturbed."""
    made = PatientInstance.of(started)
    make_scans(place / "scans", DOCUMENTS, PAGES)
    work = Work(made, Chaos(made, marks, random.Random(7)), place / "scans", report)
    work.undisturbed()
    return work
