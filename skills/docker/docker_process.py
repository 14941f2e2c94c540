"""Asks an engine in a process of its own: a blocked thread of Docker's library could be neither stopped nor left."""

import asyncio
import contextlib
import json
import resource
import sys
from collections.abc import Mapping
from typing import Any

from cluster.basics.errors import AosError
from skills.docker.engine import ASKS
from skills.docker.engine_errors import EngineRefused, EngineTimeout, EngineUnreachable, EngineUnset, ObjectInUse
from skills.docker.engine_errors import ObjectNotFound as Missing
from skills.framework.contract import OutcomeUnknown

MEMORY_BYTES = 1 << 30
SPARE = 1.0  # seconds that a process needs to start
SCHEMES = ("unix://", "tcp://", "http://", "https://")

_NAMED = {"unset": EngineUnset, "unreachable": EngineUnreachable, "missing": Missing, "conflict": ObjectInUse}
# A home that is nowhere: neither ~/.docker/config.json nor ~/.netrc nor a proxy has a say in where this goes.
_ENV = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}


async def ask_engine(
    url: str, operation: str, given: Mapping[str, Any], seconds: float, most: int, reads: bool
) -> dict[str, Any]:
    """The engine's answer to one of `engine.ASKS`; the process is gone afterwards, however this ends.

    Args:
        seconds: for all of it.
        most: bytes of logs that are kept.
        reads: it may be repeated.

    Raises:
        EngineUnset, EngineUnreachable, ObjectNotFound, ObjectInUse, EngineRefused: nothing was changed.
        EngineTimeout: nothing was to be changed.
        OutcomeUnknown: no answer came to something that changes the engine.
    """
    asked = {"url": url, "operation": operation, "given": dict(given), "seconds": seconds, "most": most}
    # -I: neither the folder it is started in nor a variable has a say in what is imported.
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-X",
        "utf8",
        "-m",
        "skills.docker.docker_process",
        env=_ENV,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(seconds + SPARE):
            answer, _ = await child.communicate(json.dumps(asked).encode())
    except TimeoutError:
        if not reads:
            raise OutcomeUnknown(f"the engine did not answer within {seconds:g} s") from None
        raise EngineTimeout(f"no answer within {seconds:g} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await asyncio.shield(child.wait())
    return _read_answer(answer, reads)


def _read_answer(answer: bytes, reads: bool) -> dict[str, Any]:
    try:
        given: dict[str, Any] = json.loads(answer)
    except ValueError:
        given = {"failed": "lost", "detail": "the engine's answer could not be read"}
    if "failed" in given:
        raise _named_error(given["failed"], given["detail"], reads)
    return given


def _named_error(name: str, detail: str, reads: bool) -> AosError:
    if name == "lost":
        return EngineUnreachable(detail) if reads else OutcomeUnknown(detail)
    return _NAMED.get(name, EngineRefused)(detail)


def _engine_answer(url: str, operation: str, given: Mapping[str, Any], seconds: float, most: int) -> dict[str, Any]:
    import docker  # a third of a second that only this process pays
    from docker import errors
    from requests.exceptions import RequestException

    if not url.startswith(SCHEMES):
        return {"failed": "unset", "detail": f"skills.docker_url begins with {', '.join(SCHEMES)}"}
    try:
        client = docker.APIClient(base_url=url, version="auto", timeout=seconds)
    except errors.DockerException as error:
        return {"failed": "unreachable", "detail": f"no engine answers at skills.docker_url: {type(error).__name__}"}
    try:
        return ASKS[operation](client, given, most)
    except errors.APIError as error:
        names = {404: "missing", 409: "conflict"}
        failed = names.get(error.response.status_code, "refused")
        return {"failed": failed, "detail": str(error.explanation)[:500]}
    except (RequestException, errors.DockerException) as error:
        return {"failed": "lost", "detail": f"the engine did not answer: {type(error).__name__}"}


def main() -> None:
    """The process: a question from standard input, JSON to standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answer = _engine_answer(**json.loads(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
