"""MCP over the pipes of a program that is started here: no shell, nearly no environment, and nothing is left of it."""

import os
import shlex
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from anyio.abc import Process
from mcp import Client
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from cluster.basics.errors import AosError, Forbidden, TooLarge, Unavailable
from skills.http_client.http_answer import ServiceGarbled
from skills.mcp.json_rpc import MOST_BYTES
from skills.mcp.results import garbled_error

MOST_GARBAGE = 20  # lines that are no message; some programs greet on their standard output
END_SECONDS = 1.0  # for a program to end by itself when its input does


class CommandNotAllowed(Forbidden):
    """This program may not be started."""

    code = "mcp_command_not_allowed"
    fix = "An administrator may name the program in the settings (`skills.mcp_commands`)."


def check_command(argv: Sequence[str], commands: Sequence[str]) -> None:
    """Check that a program may be started: its command line begins with the words of an entry.

    An entry may have arguments (`/usr/bin/python3 -m mcp_server_time`); one that is only an interpreter allows all that
    can be written for it.

    Raises CommandNotAllowed: no entry fits.
    """
    for entry in commands:
        words = shlex.split(entry)
        if words and list(argv[: len(words)]) == words:
            return
    raise CommandNotAllowed(f"{argv[0]} is not among the programs that may be started as MCP servers")


class ProcessMcpServer:
    """An `McpServer` that is a program."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """`env` is all that it is told beside a PATH and a folder of its own, which is gone with it."""
        self._argv, self._env = list(argv), dict(env)
        self.name = os.path.basename(argv[0])  # noqa: PTH119  # a word of a command line, no file
        self.fault: AosError | None = None
        self.login: Mapping[str, str] = {}

    def name_error(self, error: BaseException) -> AosError | None:
        """See `McpServer`."""
        return garbled_error(error, self.name)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Client]:
        """See `McpServer`."""
        with TemporaryDirectory(prefix="aos-mcp-") as folder:
            env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"}
            how: Any = {"env": env | self._env, "cwd": folder, "stderr": subprocess.DEVNULL}
            try:
                process = await anyio.open_process(self._argv, start_new_session=True, **how)
            except (OSError, ValueError) as error:
                self.fault = Unavailable(f"{self.name} cannot be started: {type(error).__name__}")
                raise
            try:
                async with Client(_bridge_pipes(self, process), cache=None) as client:
                    yield client
            finally:
                # At once and without waiting first: this also runs where the task is cancelled from all sides.
                _kill_session(process)
                with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECONDS):
                    await process.aclose()


@asynccontextmanager
async def _bridge_pipes(pipe: ProcessMcpServer, process: Process) -> AsyncIterator[Any]:
    """The program's pipes as streams of messages; on leaving its input ends, and it has a moment to end too."""
    into, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, out = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with into:
            try:
                async for line in _read_messages(pipe, process):
                    await into.send(line)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            if pipe.fault is None:
                pipe.fault = Unavailable(f"{pipe.name} ended")

    async def write() -> None:
        assert process.stdin is not None
        try:
            async with out:
                async for message in out:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(f"{text}\n".encode())
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await into.aclose()

    async with anyio.create_task_group() as group, messages, answers:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield messages, answers
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECONDS):
                assert process.stdin is not None
                with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await process.stdin.aclose()
                await process.wait()
            group.cancel_scope.cancel()


async def _read_messages(pipe: ProcessMcpServer, process: Process) -> AsyncIterator[SessionMessage | Exception]:
    """Messages; what is none is left out, until it is too much. The first line that is too long ends it."""
    assert process.stdout is not None
    rest, garbage = bytearray(), 0
    async for piece in process.stdout:
        rest += piece
        while (end := rest.find(b"\n")) >= 0:
            line, rest = bytes(rest[:end]), rest[end + 1 :]
            try:
                yield SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError:  # also pydantic's; its text would quote the line
                garbage += bool(line.strip())
                pipe.fault = ServiceGarbled(f"{pipe.name} writes lines that are no messages")
            if garbage >= MOST_GARBAGE:
                return
        if len(rest) > MOST_BYTES:
            pipe.fault = TooLarge(f"{pipe.name} gives more than {MOST_BYTES:,} bytes at once")
            return


def _kill_session(process: Process) -> None:
    """Its whole session: what it has started goes with it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
