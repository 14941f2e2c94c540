"""Orchestrator and executor as Serve deployments: the contract of the local ones, and replicas that come and go."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from ray import serve

from cluster import handles
from cluster.state.approvals import ApprovalStore
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.work.run_queries import RunQueries
from serve_apps import executor, orchestrator
from serve_apps.agents.events import EventKind
from serve_apps.agents.streams.event_wire import RemoteOrchestrator
from serve_apps.agents.turn_ports import IncomingMessage
from tests.fakes import agents_contract as contract
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say

pytestmark = pytest.mark.ray


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("ok")) as served:
        yield served


@pytest.fixture
async def bench(
    cluster: str, app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer
) -> AsyncIterator[contract.Bench]:
    with contract.page() as site:
        env = {
            "AOS_STATE_DIR": str(tmp_path),
            "DATABASE_URL": app_dsn,
            "DB_POOL_SIZE": "4",
            "REDIS_URL": redis_url,
            "LLM_BASE_URL": model.url,
            "LLM_DEFAULT_MODEL": "scripted-1",
            "AOS_LLM_SUPPORTS_TOOLS": "true",
            "AOS_EMBEDDING_PLACEMENT": "inproc",
            "AOS_AGENTS_PLACEMENT": "serve",
            "AOS_AGENTS_HTTP_ALLOW": site.removeprefix("http://"),
            "AOS_AGENTS_HEARTBEAT_SECONDS": "0.3",
            "AOS_AGENTS_POLL_SECONDS": "0.1",
        }
        options = {"ray_actor_options": {"num_cpus": 0.1, "runtime_env": {"env_vars": env}}}
        scaling = {"min_replicas": 1, "max_replicas": 2, "target_ongoing_requests": 4, "upscale_delay_s": 1}
        scaling |= {"downscale_delay_s": 3, "metrics_interval_s": 1, "look_back_period_s": 2}
        more = {"max_ongoing_requests": 64, "autoscaling_config": scaling, "graceful_shutdown_timeout_s": 60}
        serve.run(executor.build(options | more), name="executor", route_prefix=None)
        serve.run(orchestrator.build(options | {"max_ongoing_requests": 128}), name="orchestrator", route_prefix=None)
        database = Database(app_dsn, size=4)
        await database.open()
        try:
            remote = RemoteOrchestrator(handles.RemoteDeployment(*handles.ORCHESTRATOR))
            approvals = ApprovalStore(database, AuditLog(database))
            yield contract.Bench(remote, RunQueries(database), approvals, model, site, contract.person(admin_dsn))
        finally:
            await database.close()
            await asyncio.to_thread(serve.delete, "orchestrator")
            await asyncio.to_thread(serve.delete, "executor")


async def test_the_orchestrator_keeps_its_contract_on_serve_with_one_executor_and_with_two(
    bench: contract.Bench,
) -> None:
    """OR-07, OR-09: the assertions of the local one, over two deployments; then a second executor comes and goes.

    In one test, as both deployments take half a minute to start.
    """
    await contract.keeps_the_contract(bench)
    await no_turn_is_lost(bench)


async def no_turn_is_lost(bench: contract.Bench) -> None:
    """Twenty turns at once make a second replica; while it goes, those it has begun are ended."""
    answer = "A long and quiet answer. " * 8
    bench.model.replies[:] = [Say(answer, size=10, between=0.2)]

    async def turn(number: int) -> str:
        message = IncomingMessage("", f"/chat Question {number}")
        last = [event async for event in bench.orchestrator.process(bench.scope, message)][-1]
        assert last.kind is EventKind.DONE, last
        return str(last.data["answer"])

    most, done = 0, asyncio.gather(*(turn(number) for number in range(20)))
    while not done.done():
        most = max(most, _replicas())
        await asyncio.sleep(0.2)
    assert [text.strip() for text in await done] == [answer.strip()] * 20
    assert most == 2
    slow = [asyncio.create_task(turn(number)) for number in range(20, 23)]
    async with asyncio.timeout(60):
        while _replicas() > 1:
            await asyncio.sleep(0.2)
            if all(task.done() for task in slow):
                slow = [asyncio.create_task(turn(number)) for number in range(3)]
    assert [(await task).strip() for task in slow] == [answer.strip()] * len(slow)


def _replicas() -> int:
    deployment = serve.status().applications["executor"].deployments["Executor"]
    return sum(deployment.replica_states.values())
