"""A campaign of faults from its first reading to its verdict, over a real Postgres and a product that is scripted."""

import asyncio
import subprocess
import sys
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
from cluster.faults.verdict import prove
from configs.settings import load_settings
from tests.fakes.ledger import new_workspace

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
        with pytest.raises(KeyboardInterrupt):
            campaign.run(choices)
        assert sleeper.status() != psutil.STATUS_STOPPED
    assert api.deleted == list(api.workspaces) and campaign.evidence.reference is not None
    assert (api.cancelled, api.refused) == ([api.workspaces[1]], 1), "the job that still ran was cancelled before"
