"""An SSH server as a process of its own: it writes down every command line, and runs it unless told not to.

Accounts: `runner` runs what it is told, as the real one does, in a process group of its own; `recorder` only prints the
line. Password and keys are given on standard input as JSON; the port is printed when it listens.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import asyncssh

RUNNER, RECORDER = "runner", "recorder"


class Login(asyncssh.SSHServer):
    def __init__(self, password: str, keys: asyncssh.SSHAuthorizedKeys) -> None:
        self._password, self._keys = password, keys
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn

    def begin_auth(self, username: str) -> bool:
        if self._connection is not None:
            self._connection.set_authorized_keys(self._keys)
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return username in (RUNNER, RECORDER) and password == self._password


class Commands(asyncssh.SSHServerSession[bytes]):
    def __init__(self, record: Path, runs: bool) -> None:
        self._record, self._runs = record, runs
        self._line, self._group = "", 0
        self._chan: Any = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, chan: Any) -> None:
        self._chan = chan

    def exec_requested(self, command: str) -> bool:
        self._line = command
        with self._record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(command) + "\n")
        return True

    def session_started(self) -> None:
        self._task = asyncio.create_task(self._carry_out())

    def eof_received(self) -> bool:
        return True  # the channel stays open for what the command still prints

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def signal_received(self, name: str) -> None:
        if self._group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, signal.Signals[f"SIG{name}"])

    async def _carry_out(self) -> None:
        if not self._runs:
            self._chan.write(self._line.encode())
            self._chan.exit(0)
            return
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            self._line,
            start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._group = process.pid
        await asyncio.gather(self._passed(process.stdout, None), self._passed(process.stderr, 1))
        status = await process.wait()
        with contextlib.suppress(OSError):
            if status < 0:
                self._chan.exit_with_signal(signal.Signals(-status).name[3:])
            else:
                self._chan.exit(status)

    async def _passed(self, stream: Any, kind: int | None) -> None:
        while piece := await stream.read(32_768):
            with contextlib.suppress(OSError):  # the client is gone: what it started goes on, as with the real one
                await self._writable.wait()
                self._chan.write(piece, kind)


async def serve() -> None:
    given = json.loads(sys.stdin.readline())
    record = Path(given["record"])
    host_key = asyncssh.import_private_key(given["host_key"])
    keys = asyncssh.import_authorized_keys(given["authorized"])

    def session_of(conn: asyncssh.SSHServerConnection) -> Commands:
        return Commands(record, conn.get_extra_info("username") == RUNNER)

    class Server(Login):
        def session_requested(self) -> Commands:
            assert self._connection is not None
            return session_of(self._connection)

    server = await asyncssh.create_server(
        lambda: Server(given["password"], keys), "127.0.0.1", 0, server_host_keys=[host_key], encoding=None
    )
    print(server.get_port(), flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until whoever started it is gone


if __name__ == "__main__":
    asyncio.run(serve())
