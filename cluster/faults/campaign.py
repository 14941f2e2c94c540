"""A campaign of faults: the same folder read calmly and under faults, chats beside it, and the evidence of both."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cluster.basics.errors import AosError, Unavailable
from cluster.console.api import JSON
from cluster.console.printing import wait_lines
from cluster.faults.chats import ApiCaller, ChatChoice, ChatsBeside
from cluster.faults.harm import LATE_WRITERS, FaultDoer, identities, is_replaced
from cluster.faults.kinds import FaultAction
from cluster.faults.plan import PlannedFault
from cluster.faults.verdict import Evidence, FaultOutcome, JobOutcome
from cluster.faults.workspace_result import WorkspaceResult, read_result

LOOK_SECONDS = 0.5
JOB_SECONDS = 4 * 3600.0
SAY_SECONDS = 20.0  # between two lines of a job's progress
UNDER_WAY = ("queued", "running")
STEADY_SECONDS = 4.0  # all has to stay well for so long: Serve misses a replica after three
CANCEL_SECONDS = 60.0  # until a cancelled job has ended, and its workspace may go
AWAY_SECONDS = 300.0  # the API may be away for so long while nothing is being done to it

Health = Callable[[str | None], str]
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CampaignChoices:
    """What is read, what is done to it meanwhile, and how long it may take.

    Attributes:
        folder: which the server reads; `generated` of its pages are ours, None where the folder is the caller's.
        every: seconds of rest between two faults, at least.
        within: seconds until all has to be well after each.
        keep: leave both workspaces.
    """

    folder: Path
    generated: int | None
    planned: Sequence[PlannedFault]
    chats: ChatChoice | None
    label: str
    every: float = 2.0
    within: float = 60.0
    keep: bool = False


class FaultCampaign:
    """Runs once; `evidence` is what there is of it so far, also where it was broken off."""

    def __init__(
        self,
        api: ApiCaller,
        conninfo: Callable[[], str],
        doer: FaultDoer,
        state_dir: Path,
        health: Health,
        report: Report,
    ) -> None:
        """`conninfo` is the owner's connection to Postgres now.

        `health` says what is not well, nothing where all is; it is given a workspace in which something can be found.
        """
        self._api, self._conninfo, self._doer, self._state = api, conninfo, doer, state_dir
        self._health, self._report = health, report
        self._workspaces: dict[str, str] = {}  # id -> name
        self._jobs: dict[str, str] = {}  # workspace -> its job, while that runs
        self.evidence = Evidence((), 0)

    def run(self, choices: CampaignChoices) -> Evidence:
        """The whole of it. Raises Unavailable where it cannot even begin, or the API does not come back."""
        approves = choices.chats is not None and choices.chats.approve is not None
        self.evidence = Evidence(choices.planned, choices.within, generated=choices.generated, approves=approves)
        if sick := self._health(None):
            raise Unavailable(f"not everything is well before the first fault: {sick}", fix="See `aos doctor`.")
        try:
            self._report(f"reading {choices.folder} without faults")
            self.evidence = replace(self.evidence, reference=self._read(choices, "calm"))
            self._report("reading it again under faults")
            self._disturb(choices)
        finally:
            self._doer.undo()
            self._forget_workspaces(keep=choices.keep)
        return self.evidence

    def _read(self, choices: CampaignChoices, word: str) -> tuple[JobOutcome, WorkspaceResult]:
        workspace = self._add_workspace(f"chaos {choices.label} {word}")
        job = self._begin(choices.folder, workspace)
        return self._ended(job, workspace)

    def _disturb(self, choices: CampaignChoices) -> None:
        workspace = self._add_workspace(f"chaos {choices.label} faults")
        chats = None if choices.chats is None else ChatsBeside(self._api, choices.chats, choices.label)
        chatting = threading.Thread(target=chats.chat_on, daemon=True) if chats else None
        job = self._begin(choices.folder, workspace)
        if chatting:
            chatting.start()
        try:
            for fault in choices.planned:
                done = self._wait_until_due(fault, job, workspace)
                if done is None:
                    self._report("the job ended before all faults were done: more pages make it longer")
                    break
                outcome = self._do(fault, done, choices.within)
                self.evidence = replace(self.evidence, faults=(*self.evidence.faults, outcome))
                time.sleep(choices.every)
            self.evidence = replace(self.evidence, faulted=self._ended(job, workspace))
        finally:
            if chats:
                chats.over.set()
                self.evidence = replace(self.evidence, chats=tuple(chats.outcomes))
        if chats and chatting:
            self._report("the job has ended; the last chat is brought to its end")
            chatting.join()
            self.evidence = replace(self.evidence, chats=tuple(chats.outcomes))

    def _wait_until_due(self, fault: PlannedFault, job: str, workspace: str) -> int | None:
        """Pages that are done once enough of them are for this fault; None where the job has ended before."""
        while True:
            shown = self._job(job, workspace)
            if shown["state"] not in UNDER_WAY:
                return None
            pages = shown.get("pages") or {}
            done, expected = int(pages.get("done", 0)), int(pages.get("expected", 0))
            if expected and done >= fault.share * expected:
                return done
            time.sleep(LOOK_SECONDS)

    def _do(self, fault: PlannedFault, done: int, within: float) -> FaultOutcome:
        """Do it, and measure until all is well, for minutes if need be: the next one would hit a sick product."""
        name = fault.kind.name
        try:
            victims = self._doer.victims(fault)
            former = identities(victims)
            hit = ", ".join(str(process.pid) for process in victims[:3]) or fault.kind.what
            since = self._doer.do(fault, victims)
        except Unavailable as error:
            self._doer.undo()
            self._report(f"{fault.number}. {name}: not done: {error}")
            return FaultOutcome(fault.number, name, "", done, None, str(error))
        well, why = self._wait_until_well(fault, former, max(2 * within, AWAY_SECONDS))
        self._doer.undo()
        back = None if well is None else round(well - since, 1)
        self._report(f"{fault.number}. {name} ({hit}), {done} pages done: {why or f'well after {back} s'}")
        return FaultOutcome(fault.number, name, hit, done, back, why)

    def _wait_until_well(
        self, fault: PlannedFault, former: set[tuple[int, float]], seconds: float
    ) -> tuple[float | None, str]:
        """The moment from which on all stayed well; None in so many seconds, and what was not well at last.

        Whoever is well only because a stopped process was woken has not come back by itself.
        """
        part, began, why, late = fault.kind.part, time.monotonic(), "", ""
        well: float | None = None
        asleep = fault.kind.action is FaultAction.STOP
        while time.monotonic() - began < seconds:
            replaced = is_replaced(self._state, fault, former)
            if asleep and time.monotonic() - began > self._doer.stop_limit(part):
                late = "" if replaced or part in LATE_WRITERS else "it went on only because it was woken"
                self._doer.undo()
                asleep = False
            why = self._health(next(iter(self._workspaces), None)) if replaced else "it is not replaced"
            well = (well or time.monotonic()) if not why else None
            if well is not None and time.monotonic() - well >= STEADY_SECONDS:
                return (None, late) if late else (well, "")
            time.sleep(LOOK_SECONDS)
        return None, why or "it did not stay well"

    def _begin(self, folder: Path, workspace: str) -> str:
        headers = {"X-Workspace": workspace}
        body = {"path": str(folder)}
        started = self._api.request("POST", "/api/documents/batch-scan", json=body, headers=headers)
        self._jobs[workspace] = str(started["job_id"])
        return self._jobs[workspace]

    def _ended(self, job: str, workspace: str) -> tuple[JobOutcome, WorkspaceResult]:
        began = said = time.monotonic()
        while (shown := self._job(job, workspace))["state"] in UNDER_WAY:
            if time.monotonic() - began > JOB_SECONDS:
                raise Unavailable(f"the job {job} did not end in {JOB_SECONDS / 3600:.0f} h")
            if time.monotonic() - said > SAY_SECONDS:
                said = time.monotonic()
                pages, waits = shown.get("pages") or {}, [*wait_lines(shown), ""][0]
                self._report(f"{pages.get('done', 0)} of {pages.get('expected', 0)} pages {waits}".rstrip())
            time.sleep(LOOK_SECONDS)
        self._jobs.pop(workspace, None)
        pages = shown.get("pages") or {}
        outcome = JobOutcome(job, str(shown["state"]), int(pages.get("expected", 0)), int(pages.get("done", 0)))
        return outcome, self._patiently(lambda: read_result(self._conninfo(), workspace))

    def _job(self, job: str, workspace: str) -> JSON:
        headers = {"X-Workspace": workspace}
        return self._patiently(lambda: self._api.request("GET", f"/api/jobs/{job}", headers=headers))

    def _patiently(self, ask: Callable[[], Any], seconds: float = AWAY_SECONDS) -> Any:
        """Ask again while the product comes back."""
        began = time.monotonic()
        while True:
            try:
                return ask()
            except AosError:
                if time.monotonic() - began > seconds:
                    raise
            time.sleep(LOOK_SECONDS)

    def _add_workspace(self, name: str) -> str:
        made = self._api.request("POST", "/api/workspaces", json={"name": name})
        self._workspaces[str(made["id"])] = name
        return str(made["id"])

    def _forget_workspaces(self, *, keep: bool) -> None:
        """A job that still runs, as after Ctrl-C, is cancelled before: until it has ended its workspace stays."""
        for workspace, name in self._workspaces.items():
            if keep:
                self._report(f"kept: {name} ({workspace})")
                continue
            try:
                if job := self._jobs.get(workspace):
                    self._api.request("POST", f"/api/jobs/{job}/cancel", headers={"X-Workspace": workspace})
                delete = partial(self._api.request, "DELETE", f"/api/workspaces/{workspace}", params={"confirm": name})
                self._patiently(delete, CANCEL_SECONDS)
            except AosError as error:
                self._report(f"{name} is still there ({error}): aos workspaces delete {workspace}")
