"""Orchestrator and executor in this process, over real Postgres and Valkey, with a scripted model over real HTTP."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cluster.state.work.run_queries import RunQueries
from configs.settings import load_settings
from serve_apps.agents import turn_ports
from serve_apps.wiring.agents import TurnRuntime, build_container, build_turn_intake
from tests.fakes import agents_contract as contract
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say
from tests.fakes.models import FakeEmbedder

pytestmark = pytest.mark.postgres


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("ok")) as served:
        yield served


@pytest.fixture
def site() -> Iterator[str]:
    with contract.page() as address:
        yield address


@pytest.fixture
async def bench(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer, site: str
) -> AsyncIterator[contract.Bench]:
    settings = load_settings(
        {
            "AOS_STATE_DIR": str(tmp_path),
            "DATABASE_URL": app_dsn,
            "REDIS_URL": redis_url,
            "LLM_BASE_URL": model.url,
            "LLM_DEFAULT_MODEL": "scripted-1",
            "AOS_LLM_SUPPORTS_TOOLS": "true",
            "AOS_AGENTS_HTTP_ALLOW": site.removeprefix("http://"),
            "AOS_AGENTS_HEARTBEAT_SECONDS": "0.3",
            "AOS_AGENTS_POLL_SECONDS": "0.1",
        }
    )
    base = build_container(settings, FakeEmbedder(), None)
    workshop = TurnRuntime(settings, base)
    await base.database.open()
    await workshop.open()
    try:
        yield contract.Bench(
            build_turn_intake(settings, base, dict.fromkeys(turn_ports.TurnPath, workshop.carrier)),
            RunQueries(base.database, base.governance.seals),
            base.approvals,
            model,
            site,
            contract.person(admin_dsn),
        )
    finally:
        await workshop.close()
        await base.close()
        await base.database.close()


async def test_or_07_the_orchestrator_keeps_its_contract_in_process(bench: contract.Bench) -> None:
    """OR-07, OR-08: one way in; the same assertions hold on Serve."""
    await contract.keeps_the_contract(bench)
