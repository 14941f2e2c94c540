"""One tenant at ten times its limit: what it takes from the answers of the others.

A ratio that wants a quiet machine, so no part of `make test`; `make test-access` runs it.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from cluster.basics.scope import Role
from cluster.free_ports import free_port
from tests.fakes.http import PASSWORD, Office, open_office
from tests.fakes.limited_gateway import PATH, is_loud
from tests.fakes.valkey import valkey

LIMIT_A_MINUTE = 600
TIMES = 10
ROUNDS, SECONDS = 3, 12.0
EDGE = 0.03  # seconds of a phase that belong to none
PAUSE = 0.01  # between two requests of the others
BOUND = 1.2
MODULE = "tests.fakes.limited_gateway"


@contextmanager
def gateway(dsn: str, folder: Path, redis: str) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", MODULE, "serve", dsn, str(folder), redis, str(port)]
    with subprocess.Popen(command) as process:
        try:
            for _ in range(300):
                try:
                    httpx.get(f"http://127.0.0.1:{port}/health")
                    break
                except httpx.TransportError:
                    assert process.poll() is None, "the gateway did not start"
                    time.sleep(0.1)
            yield port
        finally:
            process.kill()


def sign_in(port: int, email: str) -> str:
    body = {"email": email, "password": PASSWORD}
    answer = httpx.post(f"http://127.0.0.1:{port}/api/auth/login", json=body).raise_for_status()
    return str(answer.json()["access_token"])


async def times(port: int, token: str, seconds: float) -> tuple[list[float], list[float]]:
    """Seconds of requests one after the other with a pause between them, in silence and beside the flood."""
    took: tuple[list[float], list[float]] = [], []
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers) as http:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            at, began = time.monotonic(), time.perf_counter()
            answer = await http.get(PATH)
            if is_loud(at) == is_loud(at - EDGE) == is_loud(at + EDGE):
                took[is_loud(at)].append(time.perf_counter() - began)
            assert answer.status_code == 200, answer.text
            await asyncio.sleep(PAUSE)
    return took


def p95(took: list[float]) -> float:
    return sorted(took)[int(len(took) * 0.95)]


@pytest.mark.timeout(120)
async def test_others_answers_are_hardly_slower_while_a_tenant_is_at_ten_times_its_limit(
    app_dsn: str, admin_dsn: str, tmp_path: Path, office: Office, record_property: Any
) -> None:
    noisy = open_office(admin_dsn)
    with valkey(tmp_path) as redis, gateway(app_dsn, tmp_path, redis.url) as port:
        admin, loud, quiet = [
            sign_in(port, email)
            for email in (noisy.emails[Role.ADMIN], noisy.emails[Role.VIEWER], office.emails[Role.VIEWER])
        ]
        rule = {"amount": LIMIT_A_MINUTE, "window": "minute"}
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {admin}"}) as http:
            rules = f"http://127.0.0.1:{port}/api/limits/tenant/{noisy.scope.tenant}"
            (await http.put(f"{rules}/reads", json=rule)).raise_for_status()
        await times(port, quiet, 2)  # warm
        rate = LIMIT_A_MINUTE / 60 * TIMES
        arguments = [str(port), loud, str(rate), str(LIMIT_A_MINUTE), str(ROUNDS * SECONDS + 8)]
        flood = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, "flood", *arguments, stdout=asyncio.subprocess.PIPE
        )
        await asyncio.sleep(9)  # until what it may have is used up
        rounds = [await times(port, quiet, SECONDS) for _ in range(ROUNDS)]
        told = json.loads((await flood.communicate())[0])
    ratios = [round(p95(busy) / p95(idle), 2) for idle, busy in rounds]
    middle = rounds[ratios.index(statistics.median(ratios))]
    record_property("others' p95 / idle", statistics.median(ratios))
    record_property("others' p95 / idle, each round", ratios)
    record_property("others' p95 idle and beside the flood (ms)", [round(p95(one) * 1000, 1) for one in middle])
    record_property("answers of who floods", told)
    print(ratios, [round(p95(one) * 1000, 1) for pair in rounds for one in pair], told)
    assert told["429"] > 0.4 * rate * SECONDS * ROUNDS
    assert told["200"] <= 1.3 * LIMIT_A_MINUTE * (1 + ROUNDS * SECONDS / 60)
    assert statistics.median(ratios) <= BOUND
