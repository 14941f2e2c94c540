"""A campus: the API in this process, a worker that reads and embeds, real retrieval, a sandbox, and an agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from cluster.basics.scope import Role
from cluster.models.ports import Embedder
from cluster.state.work.jobs import JobLane
from configs.sections_retrieval import RerankSettings, SearchSettings
from configs.sections_skills import SandboxSettings, SkillSettings
from serve_apps.retrieval.answers.answerer import DocumentAnswerer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from skills.sandbox.fence import Sandbox
from skills.sandbox.layers import IsolationLayer
from tests.fakes.ground import ground
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.ledger import Bench, bench


@dataclass
class Campus:
    """An operator's client, a worker that reads, and an agent."""

    api: Api
    client: httpx.AsyncClient
    worker: Bench
    office: Office
    agent: str
    scans: Path

    @property
    def path(self) -> str:
        return f"/api/universal-agents/{self.agent}"

    async def work(self) -> None:
        """Every job that waits."""
        for lane in JobLane:
            while job := await self.worker.jobs.claim("worker-1", lane, 60):
                runner = self.worker.runner()
                await self.worker.finish(job, runner)

    async def scan(self, **files: str) -> None:
        """Write files into a folder and let the agent have them."""
        self.scans.mkdir(exist_ok=True)
        for name, text in files.items():
            (self.scans / f"{name}.md").write_text(text)
        body = {"path": str(self.scans), "agent_id": self.agent}
        assert (await self.client.post("/api/documents/batch-scan", json=body)).status_code == 202
        await self.work()

    async def enrol(self, track: str = "infrastructure", quiz: dict[str, Any] | None = None) -> httpx.Response:
        """Without a quiz, that of the pack."""
        body = {"track": track} | ({} if quiz is None else {"quiz": quiz})
        return await self.client.post(f"{self.path}/academy/enrol", json=body)

    async def status(self) -> str | None:
        row = (await self.client.get(f"/api/agents/{self.agent}")).json()
        return row["metadata"].get("academy_status")


@asynccontextmanager
async def open_campus(
    app_dsn: str, admin_dsn: str, folder: Path, embedder: Embedder | None = None, reader: Any = None
) -> AsyncIterator[Campus]:
    """Without an embedder and a reader those of the ledger's tests: letters are counted, form feeds part pages."""
    async with (
        bench(app_dsn, folder) as worker,
        Sandbox(SandboxSettings(warm=0, untrusted_without=tuple(IsolationLayer))) as sandbox,
    ):
        worker.embedder = embedder or worker.embedder  # type: ignore[assignment]
        worker.reader = reader or worker.reader
        search = SearchPipeline(worker.database, worker.embedder, None, SearchSettings(), RerankSettings())
        answerer = DocumentAnswerer(search, worker.database, worker.embedder)
        on = ground(settings=SkillSettings(off=("shell",)), scripts=sandbox)
        async with serve(make_parts(app_dsn, folder, ground=on, answerer=answerer)) as api:
            office = open_office(admin_dsn)
            client = await api.sign_in(office.emails[Role.OPERATOR])
            agent = (await client.post("/api/agents", json={"name": "runner"})).json()["id"]
            yield Campus(api, client, worker, office, agent, folder / "scans")
