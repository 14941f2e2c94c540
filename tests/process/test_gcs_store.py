"""The Redis of Ray's cluster, asked by the doctor: one that is right, and all the ways of being wrong."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from cluster import doctor
from cluster.console.findings import GREEN, RED, YELLOW, HealthFinding
from cluster.free_ports import free_port
from configs.settings import load_settings
from tests.fakes.valkey import Valkey, babbler, valkey

PASSWORD = "only-ours"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    with valkey(tmp_path, free_port(), PASSWORD) as made:
        yield made


def look(folder: Path, url: str, **more: str) -> HealthFinding:
    settings = load_settings(
        {"AOS_STATE_DIR": str(folder), "RAY_ADDRESS": "127.0.0.1:1", "AOS_RAY_STORE_URL": url, **more}
    )
    (found,) = doctor.run_probe("ray store", settings)
    return found


def ask(server: Valkey, *command: str) -> None:
    with redis.Redis(port=server.port, password=PASSWORD) as client:
        client.execute_command(*command)


@pytest.mark.parametrize("password", ["", ":wrong@", ":@", "stranger:only-ours@"])
def test_a_refused_password_is_said_with_what_to_do_and_without_the_password(
    tmp_path: Path, server: Valkey, password: str
) -> None:
    found = look(tmp_path, f"redis://{password}127.0.0.1:{server.port}")
    assert found.colour == RED and f"127.0.0.1:{server.port} refuses the password" in found.detail
    assert "AOS_RAY_STORE_URL" in found.fix and "wrong" not in found.detail and PASSWORD not in found.detail


def test_one_that_forgets_evicts_or_is_shared_is_pointed_out(tmp_path: Path, server: Valkey) -> None:
    url = f"redis://:{PASSWORD}@127.0.0.1:{server.port}"
    forgets = look(tmp_path, url)
    assert forgets.colour == YELLOW and "appendonly yes" in forgets.fix
    ask(server, "CONFIG", "SET", "appendonly", "yes")
    assert look(tmp_path, url).colour == GREEN
    assert "of its own" in look(tmp_path, url, REDIS_URL=url).fix
    ask(server, "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
    assert "noeviction" in look(tmp_path, url).fix


def test_a_user_who_may_ping_alone_is_enough(tmp_path: Path, server: Valkey) -> None:
    ask(server, "ACL", "SETUSER", "ray", "on", ">short", "+ping", "+auth", "+hello", "+client")
    found = look(tmp_path, f"redis://ray:short@127.0.0.1:{server.port}")
    assert found.colour == GREEN and found.detail == f"127.0.0.1:{server.port} answers"


@pytest.mark.parametrize("url", ["127.0.0.1:6379", "http://a:1", "redis://a:b:c", "unix:///x.sock", "redis://", "\x00"])
def test_what_is_no_url_of_a_redis_is_refused(tmp_path: Path, url: str) -> None:
    found = look(tmp_path, url)
    assert found.colour == RED and "is no URL of a Redis" in found.detail


async def test_nobody_and_one_who_babbles_are_away(tmp_path: Path) -> None:
    nobody = await asyncio.to_thread(look, tmp_path, f"redis://127.0.0.1:{free_port()}")
    assert nobody.colour == RED and "does not answer" in nobody.detail and "AOS_RAY_STORE_URL" in nobody.fix
    for reply in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff\x00\xff", b"$-7\r\n", b"*1\r\n"):
        async with babbler(reply) as url:
            found = await asyncio.to_thread(look, tmp_path, url)
            assert found.colour == RED and "does not answer" in found.detail, (reply, found)


def test_without_one_nothing_is_said(tmp_path: Path) -> None:
    url = {"AOS_RAY_STORE_URL": "redis://nobody.example:1"}
    for environment in ({"RAY_ADDRESS": "127.0.0.1:1"}, url):  # the head that is started here has no other nodes
        assert doctor.run_probe("ray store", load_settings({"AOS_STATE_DIR": str(tmp_path)} | environment)) == []
