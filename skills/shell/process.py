"""A program of this machine: no shell, nearly no environment, a folder that is gone afterwards, an end in time."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any

from cluster.basics.errors import Permanent, Transient
from skills.framework.contract import OutcomeUnknown
from skills.framework.program_output import PIECE, OutputHead, ProgramLimits

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ProgramUnstartable(Permanent):
    """The program cannot be started."""

    code, status = "shell_unstartable", 502


class ProgramTimeout(Transient):
    """The program did not end in its time, and was killed."""

    code, status = "shell_timeout", 504


async def run_program(argv: Sequence[str], limits: ProgramLimits) -> dict[str, Any]:
    """Give {exit_status, stdout, stderr}, with {signal} where one ended it and {cut} where there was more.

    However it ends, its process group is killed, and what was started in the background with it. A process that put
    itself into a session of its own is not reached; what may do so does not belong among the allowed programs.

    Raises:
        ProgramUnstartable: nothing was run.
        ProgramTimeout: a reading program was killed.
        OutcomeUnknown: one that changes something was killed.
    """
    with TemporaryDirectory(prefix="aos-shell-") as folder:
        try:
            async with asyncio.timeout(limits.seconds), _started_process(argv, folder) as process:
                assert process.stdout is not None
                assert process.stderr is not None
                out, err = await asyncio.gather(
                    _read_beginning(process, process.stdout, limits.bytes, limits.reads),
                    _read_beginning(process, process.stderr, limits.bytes // 8, limits.reads),
                )
                return _program_result(await process.wait(), out, err)
        except TimeoutError:
            if not limits.reads:
                raise OutcomeUnknown(f"{argv[0]} did not end within {limits.seconds:g} s and was killed") from None
            raise ProgramTimeout(f"{argv[0]}: no end within {limits.seconds:g} s") from None


@asynccontextmanager
async def _started_process(argv: Sequence[str], folder: str) -> AsyncIterator[Process]:
    env: Mapping[str, str] = {"PATH": PATH}
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, cwd=folder, env=env, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise ProgramUnstartable(f"{argv[0]}: {type(error).__name__}") from None
    try:
        yield process
    finally:
        _kill_group(process)
        await process.wait()


def _program_result(status: int, out: OutputHead, err: OutputHead) -> dict[str, Any]:
    given: dict[str, Any] = {"exit_status": status, "stdout": out.text, "stderr": err.text}
    if status < 0:
        given |= {"exit_status": None, "signal": signal.Signals(-status).name.removeprefix("SIG")}
    return given | ({"cut": True} if out.cut or err.cut else {})


async def _read_beginning(process: Process, stream: asyncio.StreamReader, most: int, reads: bool) -> OutputHead:
    """The beginning of a stream; what is too much is read and dropped, or a program that writes would stand still."""
    kept = OutputHead.of(most)
    while piece := await stream.read(PIECE):
        if kept.take(piece) and reads:
            _kill_group(process)
    return kept


def _kill_group(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
