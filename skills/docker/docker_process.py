"""Asks an engine in a process of its own: a blocked thread of Docker's library could be neither stopped nor left."""

import json
import resource
import sys
from collections.abc import Mapping
from typing import Any

from cluster.basics.errors import AosError, Conflict, NotFound, Permanent, Transient, Unavailable
from skills.docker.engine import ASKS
from skills.framework.child_program import ask_program
from skills.framework.contract import OutcomeUnknown


class EngineUnset(Permanent):
    """No container engine is named in the settings."""

    code, status = "docker_not_configured", 409
    fix = "Set `skills.docker_url`, as unix:///var/run/docker.sock or tcp://host:2375; DOCKER_HOST is not read."


class EngineUnreachable(Unavailable):
    """The container engine cannot be reached."""

    code = "docker_unreachable"


class EngineTimeout(Transient):
    """The container engine did not answer in its time."""

    code, status = "docker_timeout", 504


class ObjectNotFound(NotFound):
    """The container engine has no such object."""

    code = "docker_not_found"


class ObjectInUse(Conflict):
    """The container engine cannot do that now: the object is in use, or in another state."""

    code = "docker_conflict"


class EngineRefused(Permanent):
    """The container engine did not do it."""

    code, status = "docker_refused", 502


MEMORY_BYTES = 1 << 30
SPARE = 1.0  # seconds that a process needs to start
SCHEMES = ("unix://", "tcp://", "http://", "https://")

_NAMED = {"unset": EngineUnset, "unreachable": EngineUnreachable, "missing": ObjectNotFound, "conflict": ObjectInUse}
# A home that is nowhere: neither ~/.docker/config.json nor ~/.netrc nor a proxy has a say in where this goes.
_ENV = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}


async def ask_engine(
    url: str, operation: str, given: Mapping[str, Any], seconds: float, most: int, reads: bool
) -> dict[str, Any]:
    """The engine's answer to one of `engine.ASKS`; the process is gone afterwards, however this ends.

    `seconds`: for all of it; `most`: bytes of logs that are kept; `reads`: it may be repeated.

    Raises:
        EngineUnset, EngineUnreachable, ObjectNotFound, ObjectInUse, EngineRefused: nothing was changed.
        EngineTimeout: nothing was to be changed.
        OutcomeUnknown: no answer came to something that changes the engine.
    """
    asked = {"url": url, "operation": operation, "given": dict(given), "seconds": seconds, "most": most}
    try:
        answer, _ = await ask_program("skills.docker.docker_process", asked, seconds + SPARE, env=_ENV)
    except TimeoutError:
        if not reads:
            raise OutcomeUnknown(f"the engine did not answer within {seconds:g} s") from None
        raise EngineTimeout(f"no answer within {seconds:g} s") from None
    given = {"failed": "lost", "detail": "the engine's answer could not be read"} if answer is None else answer
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
        failed = {404: "missing", 409: "conflict"}.get(error.response.status_code, "refused")
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
