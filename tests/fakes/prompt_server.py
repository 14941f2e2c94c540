"""A uvicorn server that ends as soon as it is asked to: uvicorn's own rests twice for a tenth of a second before."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

PAUSE = 0.005  # seconds


class PromptServer(uvicorn.Server):
    """Runs in a thread until `end` is called from another."""

    def __init__(self, config: uvicorn.Config) -> None:
        """Nothing listens yet."""
        super().__init__(config)
        self._asked = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Until it is asked to end."""
        await self.on_tick(0)  # what the headers of every answer say
        self._loop = asyncio.get_running_loop()
        if not self.should_exit:
            await self._asked.wait()

    def end(self) -> None:
        """As `should_exit`, at once."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._asked.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's; answers under way may still end, for `timeout_graceful_shutdown` seconds."""
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        left: float = self.config.timeout_graceful_shutdown or 0
        while (self.server_state.connections or self.server_state.tasks) and left > 0:
            await asyncio.sleep(PAUSE)
            left -= PAUSE
        for task in self.server_state.tasks:
            task.cancel()
        await self.lifespan.shutdown()


@contextmanager
def in_a_thread(config: uvicorn.Config, port: int = 0) -> Iterator[str]:
    """The address of what `config` serves on the loopback; a free port where none is given."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", port))
        found.listen(256)
        server = PromptServer(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                time.sleep(PAUSE)
            yield f"http://127.0.0.1:{found.getsockname()[1]}"
        finally:
            server.end()
            thread.join(10)
