"""A gateway with limits in a process of its own, and a tenant in another one that floods it at a steady rate."""

import asyncio
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import uvicorn

from cluster.state.limits.limiter import Limiter
from cluster.state.metrics_store import MetricsStore
from configs.sections_limits import LimitSettings
from serve_apps.http.app import create_app
from tests.fakes.http import make_parts
from tests.fakes.valkey import client

PATH = "/api/documents/?limit=10"
LANES = 8  # connections of whoever floods
PHASE = 0.5  # seconds


def serve_gateway(dsn: str, folder: str, redis: str, port: str) -> None:
    """Until it is killed."""
    parts = make_parts(dsn, Path(folder))
    limits = Limiter.of(parts.database, client(redis), LimitSettings(reads=0), MetricsStore(None))
    uvicorn.run(create_app(replace(parts, limits=limits)), port=int(port), log_level="error", access_log=False)


def is_loud(moment: float) -> bool:
    """Floods alternate with silence, by a clock that all processes share: what else the machine does falls on both."""
    return int(moment / PHASE) % 2 == 1


async def flood(port: int, token: str, a_second: float, most: int, seconds: float) -> dict[str, int]:
    """Use up what there is, then send at this rate in loud phases; statuses by how often they came.

    A request is sent when its time has come, whatever became of those before.
    """
    request = f"GET {PATH} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n".encode()
    counts: dict[str, int] = {}

    async def lane(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        due = time.monotonic() + number / a_second
        end = due + seconds
        while due < end:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due += LANES / a_second
            if sum(counts.values()) >= most and not is_loud(time.monotonic()):
                continue
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            status = head[9:12].decode()
            counts[status] = counts.get(status, 0) + 1
        writer.close()

    await asyncio.gather(*(lane(number) for number in range(LANES)))
    return counts


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    if what == "serve":
        serve_gateway(*given)
    else:
        port_, token_, rate, room, duration = given
        told = asyncio.run(flood(int(port_), token_, float(rate), int(room), float(duration)))
        print(json.dumps(told), flush=True)
