"""Faults done to processes that look like a replica of one state directory: they alone are hit, and nothing stays."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from cluster.faults.harm import FaultDoer, NothingToHit, cut_valkey, identities, is_replaced, is_stopped
from cluster.faults.harm_record import only_campaign
from cluster.faults.kinds import choose_kinds
from cluster.faults.plan import PlannedFault
from cluster.faults.targets import find_processes
from configs.settings import load_settings
from tests.fakes.replica import replica
from tests.fakes.valkey import valkey


def planned(name: str, pick: float = 0.0) -> PlannedFault:
    (kind,) = choose_kinds([name])
    return PlannedFault(1, kind, 0.1, pick)


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_one_replica_of_this_state_directory_is_hit_and_no_other(tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path / "ours")})
    with (
        replica(settings.state_dir) as first,
        replica(settings.state_dir) as second,
        replica(settings.state_dir, "ray::ServeReplica:worker:Worker") as worker,
        replica(tmp_path / "theirs") as foreign,
        only_campaign(settings.state_dir) as record,
    ):
        assert [one.pid for one in find_processes(settings.state_dir, "gateway")] == sorted([first.pid, second.pid])
        doer, fault = FaultDoer(settings, record), planned("kill-gateway", pick=0.99)
        (victim,) = doer.victims(fault)
        assert victim.pid == max(first.pid, second.pid)
        former = identities([victim])
        doer.do(fault, [victim])
        assert soon(lambda: is_replaced(settings.state_dir, fault, former)), "the other one is in its place"
        assert worker.is_running() and foreign.is_running() and len(find_processes(settings.state_dir, "gateway")) == 1


def test_a_stopped_one_is_not_well_until_it_goes_on(tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path)})
    with replica(tmp_path) as gateway, only_campaign(tmp_path) as record:
        doer, fault = FaultDoer(settings, record), planned("stop-gateway")
        victims = doer.victims(fault)
        doer.do(fault, victims)
        assert soon(lambda: is_stopped(gateway)) and not is_replaced(tmp_path, fault, identities(victims))
        doer.undo()
        assert soon(lambda: not is_stopped(gateway)) and is_replaced(tmp_path, fault, identities(victims))


def test_one_that_is_slowed_is_stopped_again_and_again_and_goes_on_at_the_end(tmp_path: Path) -> None:
    settings, seen = load_settings({"AOS_STATE_DIR": str(tmp_path)}), []
    with replica(tmp_path, "ray::ServeReplica:embedding:Embedder") as embedder, only_campaign(tmp_path) as record:

        def sleep(seconds: float) -> None:
            time.sleep(seconds)
            seen.append(is_stopped(embedder))

        doer, fault = FaultDoer(settings, record, sleep, slow_seconds=0.8), planned("slow-embedder")
        doer.do(fault, doer.victims(fault))
        assert seen.count(True) >= 2 and seen.count(False) >= 2 and not is_stopped(embedder)


def test_every_connection_to_valkey_is_cut(tmp_path: Path) -> None:
    with valkey(tmp_path) as server, redis.from_url(server.url) as client:
        connection = client.connection_pool.get_connection()
        connection.send_command("PING")
        assert connection.read_response() == b"PONG"
        assert cut_valkey(load_settings({"REDIS_URL": server.url})) == 1
        with pytest.raises(redis.ConnectionError):
            connection.send_command("PING")
            connection.read_response()


def test_a_cut_that_found_no_connection_was_not_done(tmp_path: Path) -> None:
    with valkey(tmp_path) as server, only_campaign(tmp_path / "state") as record:
        doer = FaultDoer(load_settings({"REDIS_URL": server.url}), record)
        with pytest.raises(NothingToHit, match="no connection to valkey"):
            doer.do(planned("cut-valkey"), [])
