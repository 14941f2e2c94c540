"""A small container engine that answers the Engine API (1.44) over a Unix socket or TCP, and records request lines."""

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

API = "1.44"
CANARY = "canary-Env-77aa"
WEB: Mapping[str, Any] = {
    "Id": "4fa6e0f0c678" + "0" * 52,
    "Created": "2026-01-02T03:04:05.6Z",
    "Path": "nginx",
    "Args": ["-p", CANARY],
    "Name": "/web",
    "RestartCount": 2,
    "State": {
        "Status": "running",
        "Running": True,
        "ExitCode": 0,
        "OOMKilled": False,
        "Error": "",
        "StartedAt": "2026-01-02T03:04:06Z",
        "FinishedAt": "0001-01-01T00:00:00Z",
        "Health": {"Status": "healthy", "Log": [{"Output": CANARY}]},
    },
    "HostConfig": {"RestartPolicy": {"Name": "always"}, "Privileged": False},
    "Config": {
        "Image": "nginx:1.27",
        "User": "",
        "Tty": False,
        "Env": [f"DB_PASSWORD={CANARY}", "PATH=/bin", "BARE"],
        "Cmd": [CANARY],
        "Labels": {"org.secret": CANARY},
    },
    "Mounts": [{"Type": "bind", "Source": "/srv", "Destination": "/data", "RW": False}],
    "NetworkSettings": {"Networks": {"bridge": {"IPAddress": "172.17.0.2"}}},
}
LISTED = {
    "Id": WEB["Id"],
    "Names": ["/web"],
    "Image": "nginx:1.27",
    "State": "running",
    "Status": "Up 3 hours",
    "Created": 1767323045,
    "Ports": [
        {"IP": "0.0.0.0", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"PrivatePort": 443, "Type": "tcp"},
    ],
}
STATS = {
    "cpu_stats": {"cpu_usage": {"total_usage": 3_000}, "system_cpu_usage": 20_000, "online_cpus": 4},
    "precpu_stats": {"cpu_usage": {"total_usage": 1_000}, "system_cpu_usage": 10_000},
    "memory_stats": {"usage": 5_000_000, "limit": 9_000_000, "stats": {"inactive_file": 1_000_000}},
    "pids_stats": {"current": 7},
    "networks": {"eth0": {"rx_bytes": 10, "tx_bytes": 20}, "eth1": {"rx_bytes": 1, "tx_bytes": 2}},
}
IMAGE = {"Id": "sha256:ab", "RepoTags": ["nginx:1.27"], "Size": 187, "Created": 1767000000}


@dataclass
class FakeEngine:
    """`asked` has every request line but those of the version; `logs` are (stream, text), `busy` answers with 409.

    With `mute` no request but the version's is answered, with `broken` its connection is closed instead.
    """

    url: str
    asked: list[str] = field(default_factory=list)
    logs: list[tuple[int, bytes]] = field(default_factory=lambda: [(1, b"out\n"), (2, b"err\n")])
    busy: bool = False
    mute: bool = False
    broken: bool = False
    open: int = 0

    def answer(self, method: str, path: str) -> tuple[int, bytes, str]:
        """Status, body and its type."""
        if path == "/version":
            return as_json(200, {"ApiVersion": API, "MinAPIVersion": "1.24", "Version": "27.0.0"})
        version, _, rest = path.removeprefix("/").partition("/")
        if version != f"v{API}":
            return as_json(400, {"message": f"client version {version} is too old"})
        match [method, *rest.split("/")]:
            case ["GET", "containers", "json"]:
                return as_json(200, [LISTED])
            case ["GET", "images", "json"]:
                return as_json(200, [IMAGE])
            case ["POST", what, "prune"]:
                return as_json(200, {f"{what.capitalize()}Deleted": ["x1"], "SpaceReclaimed": 12})
            case ["GET" | "POST", "containers", name, verb]:
                return self._container(name, verb)
        return as_json(404, {"message": "page not found"})

    def _container(self, name: str, verb: str) -> tuple[int, bytes, str]:
        if name not in ("web", WEB["Id"][:12]):
            return as_json(404, {"message": f"No such container: {name}"})
        if self.busy:
            return as_json(409, {"message": f"container {name} is restarting"})
        if verb in ("restart", "stop"):
            return 204, b"", "text/plain"
        if verb == "logs":
            frames = b"".join(struct.pack(">BxxxL", stream, len(text)) + text for stream, text in self.logs)
            return 200, frames, "application/vnd.docker.multiplexed-stream"
        return as_json(200, {"json": WEB, "stats": STATS}[verb])


def as_json(status: int, value: Any) -> tuple[int, bytes, str]:
    return status, json.dumps(value).encode(), "application/json"


@asynccontextmanager
async def engine(folder: Path | None) -> AsyncIterator[FakeEngine]:
    """Listen while the block runs: on a socket in this folder, or on a port of loopback."""
    made = FakeEngine("")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.open += 1
        try:
            while await _answered(made, reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            made.open -= 1
            writer.close()

    if folder is None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        made.url = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    else:
        server = await asyncio.start_unix_server(serve, folder / "engine.sock")
        made.url = f"unix://{folder / 'engine.sock'}"
    try:
        yield made
    finally:
        server.close()


async def _answered(made: FakeEngine, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    method, target, _ = head.split("\r\n", 1)[0].split(" ")
    sizes = [line.partition(":")[2] for line in head.split("\r\n") if line.lower().startswith("content-length:")]
    await reader.readexactly(int(sizes[0]) if sizes else 0)
    path = unquote(urlsplit(target).path)
    if path != "/version":
        made.asked.append(f"{method} {unquote(target)}")
        if made.broken:
            return False
        if made.mute:
            await reader.read()  # until the other side is gone
            return False
    status, body, kind = made.answer(method, path)
    length = "" if status == 204 else f"Content-Length: {len(body)}\r\n"
    writer.write(f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\n{length}\r\n".encode() + body)
    await writer.drain()
    return True
