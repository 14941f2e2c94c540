"""A module of ours as a program of its own: JSON in, JSON out, and gone afterwards, however it ends."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


async def ask_program(
    module: str,
    asked: Mapping[str, Any],
    seconds: float,
    *arguments: str,
    env: Mapping[str, str],  # all of its environment
    folder: str | Path | None = None,
    kill: Callable[[int], None] | None = None,  # ends it with what it has started, not only the program itself
) -> tuple[dict[str, Any] | None, int | None]:
    """The program's answer, None where it is no JSON, and its exit status. Raises TimeoutError: it took longer."""
    # -I: neither the folder it is started in nor a variable has a say in what is imported.
    line = (sys.executable, "-I", "-X", "utf8", "-m", module, *arguments)
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    child = await asyncio.create_subprocess_exec(*line, env=env, cwd=folder, stdin=pipe, stdout=pipe, stderr=null)
    try:
        async with asyncio.timeout(seconds):
            answer, _ = await child.communicate(json.dumps(asked).encode())
    finally:
        if kill is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
        elif child.returncode is None:
            kill(child.pid)
        await asyncio.shield(child.wait())
    try:
        return dict(json.loads(answer)), child.returncode
    except ValueError:
        return None, child.returncode
