"""A campaign of faults from its first reading to its verdict, over a real Postgres and a product that is scripted."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from cluster.basics.errors import Conflict, Unavailable
from cluster.console.api import ApiUnavailable
from cluster.faults.campaign import CampaignChoices, FaultCampaign
from cluster.faults.harm import FaultDoer
from cluster.faults.harm_record import only_campaign
from cluster.faults.kinds import choose_kinds
from cluster.faults.plan import plan_faults
from cluster.faults.verdict import FaultOutcome, prove
from configs.settings import load_settings
from tests.fakes.ledger import new_workspace
from tests.fakes.replica import replica

PAGES = 10


@dataclass
class JobApi:
    """Workspaces of their own, and jobs whose pages go on by one each time they are looked at."""

    workspaces: Sequence[str]
    done: dict[str, int] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    refused: int = 0
    asked: list[str] = field(default_factory=list)

    def request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        self.asked.append(f"{method} {path}")
        workspace = options.get("headers", {}).get("X-Workspace", "")
        match method, path.split("/")[2]:
            case "POST", "workspaces":
                return {"id": self.workspaces[sum(one == "POST /api/workspaces" for one in self.asked) - 1]}
            case "POST", "documents":
                self.done[workspace] = 0
                return {"job_id": f"job-of-{workspace}"}
            case "GET", "jobs":
                if len(self.asked) % 4 == 0:
                    raise ApiUnavailable("no replica")  # it comes back
                self.done[workspace] = min(PAGES, self.done[workspace] + 1)
                state = "completed" if self.done[workspace] == PAGES else "running"
                return {"state": state, "pages": {"expected": PAGES, "done": self.done[workspace]}}
            case "POST", "jobs":
                self.cancelled.append(workspace)
                return {}
            case "DELETE", "workspaces":
                if path.split("/")[3] in self.cancelled and not self.refused:
                    self.refused += 1
                    raise Conflict("1 jobs, 0 runs")  # it takes the job a moment to end
                self.deleted.append(path.split("/")[3])
                return {}
        raise Conflict(path)


@pytest.fixture
async def api(admin_dsn: str) -> JobApi:
    return JobApi([str((await new_workspace(admin_dsn)).workspace) for _ in range(2)])


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield psutil.Process(started.pid)
    started.kill()
    started.wait()


async def run(api: JobApi, state: Path, dsns: tuple[str, str], health: list[str], *kinds: str) -> FaultCampaign:
    """In a thread, as the command runs it; `health` is what is not well, one after the other, then all is."""
    settings = load_settings({"AOS_STATE_DIR": str(state), "DATABASE_URL": dsns[0], "DATABASE_ADMIN_URL": dsns[1]})
    planned = plan_faults(7, len(kinds), choose_kinds(kinds))
    choices = CampaignChoices(state, PAGES, planned, None, "7", every=0)

    def campaign() -> FaultCampaign:
        with only_campaign(state) as record:
            doer = FaultDoer(settings, record)
            looks = iter(health)
            made = FaultCampaign(
                api, lambda: dsns[1], doer, state, lambda workspace: next(looks, ""), lambda line: None
            )
            made.run(choices)
            return made

    return await asyncio.to_thread(campaign)


async def test_a_cut_is_done_while_the_job_runs_and_everything_is_evidence(
    api: JobApi, app_dsn: str, admin_dsn: str, tmp_path: Path
) -> None:
    with psycopg.connect(app_dsn) as held:
        made = await run(api, tmp_path, (app_dsn, admin_dsn), ["", "serve: DEPLOYING", "redis"], "cut-postgres")
        with pytest.raises(psycopg.OperationalError):
            held.execute("select 1")
    (fault,) = made.evidence.faults
    assert fault.kind == "cut-postgres" and fault.hit and 0 < fault.at < PAGES
    assert fault.back is not None and 0.5 <= fault.back < 20, "two looks at which something was not well"
    assert made.evidence.reference is not None and made.evidence.faulted is not None
    assert made.evidence.reference[1].hash == made.evidence.faulted[1].hash
    missing = {line.name for line in prove(made.evidence) if not line.holds}
    assert missing == {"pages", "chunks", "chats answered"}, "nothing was really read, and nobody chatted"
    assert api.deleted == list(api.workspaces)


async def test_what_is_not_well_before_is_no_beginning(
    api: JobApi, app_dsn: str, admin_dsn: str, tmp_path: Path
) -> None:
    with pytest.raises(Unavailable, match="before the first fault: ray: gone"):
        await run(api, tmp_path, (app_dsn, admin_dsn), ["ray: gone"], "cut-postgres")
    assert api.asked == []


async def test_a_campaign_that_breaks_off_leaves_nothing_stopped_and_no_workspace(
    api: JobApi, app_dsn: str, admin_dsn: str, tmp_path: Path, sleeper: psutil.Process
) -> None:
    def broken(workspace: str | None) -> str:
        if workspace is None:
            return ""
        raise KeyboardInterrupt

    settings = load_settings({"DATABASE_URL": app_dsn, "DATABASE_ADMIN_URL": admin_dsn})
    planned = plan_faults(7, 1, choose_kinds(["cut-postgres"]))
    choices = CampaignChoices(tmp_path, PAGES, planned, None, "7", every=0)
    with only_campaign(tmp_path) as record:
        record.stop([sleeper])
        campaign = FaultCampaign(
            api, lambda: admin_dsn, FaultDoer(settings, record), tmp_path, broken, lambda line: None
        )
        with psycopg.connect(app_dsn), pytest.raises(KeyboardInterrupt):
            campaign.run(choices)
        assert sleeper.status() != psutil.STATUS_STOPPED
    assert api.deleted == list(api.workspaces) and campaign.evidence.reference is not None
    assert (api.cancelled, api.refused) == ([api.workspaces[1]], 1), "the job that still ran was cancelled before"


@pytest.mark.parametrize("kind", ["stop-gateway", "stop-worker"])
async def test_a_replica_that_is_well_only_because_it_was_woken_is_not_back_by_itself(
    kind: str, api: JobApi, app_dsn: str, admin_dsn: str, tmp_path: Path
) -> None:
    """But for a worker: it is woken on purpose, so that it writes too late."""
    environment = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": app_dsn, "AOS_WORKER_LEASE_SECONDS": "1"}
    settings, part = load_settings(environment), kind.removeprefix("stop-")
    choices = CampaignChoices(tmp_path, PAGES, plan_faults(7, 1, choose_kinds([kind])), None, "7", every=0)

    def campaign() -> FaultOutcome:
        with replica(tmp_path, f"ray::ServeReplica:{part}:Part"), only_campaign(tmp_path) as record:
            doer = FaultDoer(settings, record, longest_stop=2)
            made = FaultCampaign(api, lambda: admin_dsn, doer, tmp_path, lambda workspace: "", lambda line: None)
            (fault,) = made.run(choices).faults
            return fault

    fault = await asyncio.to_thread(campaign)
    if kind == "stop-worker":
        assert fault.back is not None and 1.3 <= fault.back < 20 and not fault.why
    else:
        assert fault.back is None and "woken" in fault.why


async def test_all_is_well_when_a_look_has_ended_and_not_when_it_began(
    api: JobApi, app_dsn: str, admin_dsn: str, tmp_path: Path
) -> None:
    def slow(workspace: str | None) -> str:
        time.sleep(1 if workspace else 0)
        return ""

    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": app_dsn, "DATABASE_ADMIN_URL": admin_dsn})
    choices = CampaignChoices(tmp_path, PAGES, plan_faults(7, 1, choose_kinds(["cut-postgres"])), None, "7", every=0)

    def campaign() -> FaultOutcome:
        with psycopg.connect(app_dsn), only_campaign(tmp_path) as record:
            doer = FaultDoer(settings, record)
            made = FaultCampaign(api, lambda: admin_dsn, doer, tmp_path, slow, lambda line: None)
            (fault,) = made.run(choices).faults
            return fault

    fault = await asyncio.to_thread(campaign)
    assert fault.back is not None and fault.back >= 1
