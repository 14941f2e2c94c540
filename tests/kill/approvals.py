"""`make test-approvals`: kill things while people decide; approved is executed once, denied never, doubt is shown."""

import argparse
import contextlib
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import yaml

import configs
from cluster import connect
from tests.evals.report import ROOT, Report
from tests.fakes.marks import Marks
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, Use
from tests.instance import Instance, instance

GOAL = (
    "200 random kills, at least 10 of them of the whole of Ray, over 50 pending approvals and a tool that records"
    " every execution: none twice, denied never, every approved one executed or shown as `needs_reconcile`; that count"
    " is printed, and is 0 for tools that take an idempotency key"
)
VICTIMS = ("ServeReplica:executor", "ServeReplica:orchestrator", "ServeReplica:gateway")
ENDS = ("completed", "failed", "cancelled")
ANSWERS = (200, 409, 422)  # anything else is not the product's word on a decision
LEASE = 5.0  # seconds; a person looks no sooner than that at what broke off
LABEL = re.compile(r"(keyed|plain)-\d+")


@dataclass
class Chaos:
    """The product under kills, and what people decided."""

    made: Instance
    marks: Marks
    rng: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    verdicts: dict[str, str] = field(default_factory=dict)  # label -> approve or reject
    doubts: set[str] = field(default_factory=set)  # labels that a person had to look at
    wins: Counter[str] = field(default_factory=Counter)  # approval -> decisions that were accepted

    def patiently(self, method: str, path: str, seconds: float = 240, **options: Any) -> httpx.Response:
        """Ask until the product answers: the gateway is killed too, and its proxy knows no route (404) meanwhile."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                answer = self.made.http.request(method, path, **options)
                if answer.status_code in ANSWERS:
                    return answer
            except httpx.HTTPError:
                pass
            if time.monotonic() > deadline:
                raise TimeoutError(f"{method} {path}")
            time.sleep(0.5)

    def states(self) -> dict[str, str]:
        """Label to the state of its newest run."""
        rows = self.made.rows("select input->>'message', state from runs order by created_at")
        return {found[0]: state for text, state in rows if (found := LABEL.search(text))}

    def begin(self, label: str) -> None:
        """Say something that leads to an approval; a stream that a kill breaks off is taken up or begun anew."""
        while self.states().get(label) not in ("waiting", *ENDS):
            rows = self.made.rows(
                "select id from runs where input->>'message' like %s and state = 'interrupted'", f"%{label} %"
            )
            with contextlib.suppress(httpx.HTTPError):
                if rows:
                    self.made.http.post(f"/api/runs/{rows[0][0]}/resume", timeout=60)
                elif label not in self.states():
                    body = {"message": f"Please act: {label} now.", "use_rag": False, "stream": False}
                    self.made.http.post("/api/chat/assistant", json=body, timeout=60)
            time.sleep(0.2)

    def pending(self, category: str) -> dict[str, str]:
        """Approval to its label."""
        rows = self.made.rows(
            "select id, arguments->>'label' from approvals where state = 'pending' and category = %s"
            " and created_at < now() - make_interval(secs => %s)",
            category,
            LEASE if category == "reconcile" else 0,
        )
        return {str(id_): label for id_, label in rows}

    def decide(self, approval: str, label: str) -> None:
        """Two people decide at once, and neither knows of the other."""
        choice = "approve" if self.rng.random() < 0.7 else "reject"
        other = "reject" if self.rng.random() < 0.5 else choice

        def say(decision: str) -> None:
            answer = self.patiently("POST", f"/api/approvals/{approval}", json={"decision": decision})
            self.wins[approval] += answer.status_code == 200

        with ThreadPoolExecutor(2) as people:
            list(people.map(say, (choice, other)))
        ((state,),) = self.made.rows("select state from approvals where id = %s", approval)
        self.verdicts[label] = state

    def reconcile(self, stop: threading.Event) -> None:
        """Somebody looks at what is in doubt and says what they find."""
        while not stop.wait(0.5):
            for approval, label in self.pending("reconcile").items():
                self.doubts.add(label)
                found = {"decision": "run"}
                if self.marks.effects()[label]:
                    found = {"decision": "happened", "result": {"recorded": label}}
                self.patiently("POST", f"/api/approvals/{approval}", json=found)

    def kill_one(self) -> None:
        """A random replica of those that carry turns; it is waited for where none is up."""
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            found = [(p, kind) for p in connect.ray_processes(self.made.settings.state_dir) if (kind := kind_of(p))]
            wanted = self.rng.choice(VICTIMS)
            kinds = [(p, kind) for p, kind in found if kind == wanted] or found
            if kinds:
                process, kind = self.rng.choice(kinds)
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
                    self.kills[kind] += 1
                    return
            time.sleep(0.2)
        raise TimeoutError("no replica came back")

    def kill_ray(self) -> None:
        """Everything of Ray at once."""
        for process in connect.ray_processes(self.made.settings.state_dir):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.kills["the whole of Ray"] += 1


def kind_of(process: psutil.Process) -> str | None:
    """Which of the victims it is."""
    try:
        title = " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return next((kind for kind in VICTIMS if kind in title), None)


def schedule(rng: random.Random, kills: int, whole: int) -> list[bool]:
    """Which of the kills are of the whole of Ray."""
    chosen = set(rng.sample(range(kills), whole))
    return [number in chosen for number in range(kills)]


def run(chaos: Chaos, approvals: int, kills: list[bool], report: Report) -> None:
    """Bring so many turns to where they wait, then decide them one by one among the kills."""
    labels = [f"{'keyed' if number % 2 else 'plain'}-{number}" for number in range(approvals)]
    early, late = kills[: len(kills) // 10], kills[len(kills) // 10 :]
    with ThreadPoolExecutor(4) as people:
        begun = [people.submit(chaos.begin, label) for label in labels]
        for whole in early:
            time.sleep(chaos.rng.uniform(0, 3))
            chaos.kill_ray() if whole else chaos.kill_one()
        for one in begun:
            one.result()
    waiting = chaos.pending("approval")
    report.figure("pending approvals", len(waiting), reference=approvals, goal=GOAL, holds=len(waiting) == approvals)
    stop = threading.Event()
    looking = threading.Thread(target=chaos.reconcile, args=(stop,), daemon=True)
    looking.start()
    order = list(waiting.items())
    chaos.rng.shuffle(order)
    for number, (approval, label) in enumerate(order):
        deciding = threading.Thread(target=chaos.decide, args=(approval, label))
        deciding.start()
        for whole in late[number * len(late) // approvals : (number + 1) * len(late) // approvals]:
            time.sleep(chaos.rng.uniform(0, 2.5))  # a turn's rest takes about that long
            chaos.kill_ray() if whole else chaos.kill_one()
        deciding.join()
    settle(chaos, labels)
    stop.set()
    looking.join()


def settle(chaos: Chaos, labels: list[str], seconds: float = 420) -> None:
    """Wait until every run has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        states = chaos.states()
        if all(states.get(label) in ENDS for label in labels):
            return
        time.sleep(1)


def judge(chaos: Chaos, approvals: int, kills: list[bool], report: Report) -> None:
    """Every figure from what lies outside and from the database, nothing from what the product says of itself."""
    effects, states = chaos.marks.effects(), chaos.states()
    approved = [label for label, state in chaos.verdicts.items() if state == "approved"]
    denied = [label for label, state in chaos.verdicts.items() if state == "rejected"]
    twice = [label for label, count in effects.items() if count > 1]
    lost = [label for label in approved if not effects[label] and label not in chaos.doubts]
    executed = sum(effects[label] == 1 for label in approved)
    doubts = Counter(label.partition("-")[0] for label in chaos.doubts)
    for kind, count in sorted(chaos.kills.items()):
        report.figure(f"kills: {kind}", count)
    whole = chaos.kills["the whole of Ray"]
    report.figure("kills", chaos.kills.total(), reference=len(kills), goal=GOAL, holds=chaos.kills.total() >= 200)
    report.figure("kills of the whole of Ray", whole, reference=sum(kills), goal=GOAL, holds=whole >= 10)
    report.figure("decided", len(chaos.verdicts), reference=approvals, goal=GOAL, holds=len(chaos.verdicts) == 50)
    more = max(chaos.wins.values(), default=0)
    report.figure(
        "decisions accepted for one approval, at most", more, goal="two approvers → one wins", holds=more <= 1
    )
    report.figure("approved", len(approved))
    report.figure("approved and executed once", executed, reference=len(approved))
    report.figure("approved, neither executed nor shown", len(lost), goal=GOAL, holds=not lost)
    report.figure("executed twice", len(twice), goal=GOAL, holds=not twice)
    wrongly = [label for label in denied if effects[label]]
    report.figure("denied", len(denied))
    report.figure("denied and executed", len(wrongly), goal=GOAL, holds=not wrongly)
    report.figure("shown as needs_reconcile, without a key", doubts["plain"], goal=GOAL, holds=True)
    report.figure("shown as needs_reconcile, with a key", doubts["keyed"], goal=GOAL, holds=doubts["keyed"] == 0)
    ended = sum(state == "completed" for state in states.values())
    report.figure("turns completed", ended, reference=approvals)
    open_ = [label for label, state in states.items() if state not in ENDS]
    report.figure("turns without an end", len(open_), goal="the turn ends in a clear state", holds=not open_)


def talk(folder: Path) -> Callable[[Any], Say]:
    """A model that calls the tool its user names, and says so when it has run."""

    def answer(body: Any) -> Say:
        messages = body["messages"]
        label = next((m[0] for one in reversed(messages) if (m := LABEL.search(str(one.get("content"))))), "")
        # A model that is not known to take tools natively is told of results in ReAct's way.
        told = any(one["role"] == "tool" or str(one.get("content")).startswith("OBSERVATION") for one in messages)
        if told or not label:
            return Say("The book is closed.", between=0.05)
        name = f"record_{label.partition('-')[0]}"
        return Say(calls=(Use(name, {"label": label, "folder": str(folder)}),))

    return answer


@contextmanager
def configured(folder: Path) -> Iterator[str]:
    """A copy of the configuration with the recording tools in it; the PYTHONPATH that finds it first.

    The working folder changes too: whatever is started there must not find the original beside it.
    """
    copy = folder / "python" / "configs"
    shutil.copytree(Path(configs.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    serve_yaml = copy / "serve.yaml"
    text = serve_yaml.read_text().replace("serve_apps.executor:build", "tests.kill.hands:build")
    serve_yaml.write_text(text)
    asked = {"tool": "record_*", "decision": "ask", "reason": "It leaves a mark."}
    approvals = yaml.safe_load((copy / "approvals.yaml").read_text())
    approvals["patterns"].append(asked)
    (copy / "approvals.yaml").write_text(yaml.safe_dump(approvals))
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield f"{folder / 'python'}:{ROOT}"
    finally:
        os.chdir(before)


def main() -> int:
    """Run against a real instance and a scripted model over HTTP."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--whole", type=int, default=10, help="how many of them are of the whole of Ray")
    parser.add_argument("--approvals", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    report, rng = Report("test-approvals"), random.Random(options.seed)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="aos-appr-") as place, configured(Path(place)) as path:
        marks = Marks(Path(place) / "outside")
        settings = {
            "PYTHONPATH": path,
            "AOS_AGENTS_PLACEMENT": "serve",
            "AOS_AGENTS_LEASE_SECONDS": str(LEASE),
            "AOS_AGENTS_HEARTBEAT_SECONDS": "1",
            "AOS_AGENTS_PLANNING_ENABLED": "false",
            "AOS_MEMORY_EXTRACT_FACTS": "false",
            "LLM_DEFAULT_MODEL": "scripted-1",
            "LLM_API_KEY": "none",
        }
        with serve_model(talk(marks.folder)) as model, instance(**settings, LLM_BASE_URL=model.url) as made:
            chaos = Chaos(made, marks, rng)
            kills = schedule(rng, options.kills, options.whole)
            run(chaos, options.approvals, kills, report)
            judge(chaos, options.approvals, kills, report)
    minutes = (time.monotonic() - began) / 60
    report.figure("time", minutes, unit="min", reference=45, goal="≤ 45 min", holds=minutes <= 45)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
