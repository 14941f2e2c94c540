"""Reading what a script gave back: bytes that nobody vouches for become one JSON object or an error by name."""

import json
import signal
from contextlib import suppress
from typing import Any, NoReturn

from skills.sandbox.sandbox_errors import ForbiddenImport, ScriptFailed, ScriptMemory, ScriptTimeout
from skills.sandbox.worker import WorkerExit

DEEPEST = 64  # levels of lists and objects; deeper ones break readers that recurse
ERROR_LETTERS = 2_000
TRACE_LETTERS = 8_000


def read_value(ended: WorkerExit) -> dict[str, Any]:
    """The value that `run` gave. Raises ScriptFailed, ForbiddenImport, ScriptMemory, ScriptTimeout: as it tells."""
    out, err = stored_text(ended.stdout), stored_text(ended.stderr)
    if ended.answer is None:
        _raise_death(ended.code, out, err)
    answer = _parse_json(ended.answer)
    if isinstance(answer, dict) and isinstance(value := answer.get("value"), dict):
        if _nesting_depth(value) > DEEPEST:
            raise ScriptFailed(f"the result is nested more than {DEEPEST} deep", stdout=out, stderr=err)
        return value
    if not (isinstance(answer, dict) and isinstance(error := answer.get("error"), str)):
        raise ScriptFailed("the result is not a JSON object that can be stored", stdout=out, stderr=err)
    if answer.get("memory") is True:
        raise ScriptMemory("the script asked for more memory than it may have")
    trace = answer["trace"][:TRACE_LETTERS] if isinstance(answer.get("trace"), str) else ""
    kind = ForbiddenImport if answer.get("forbidden") is True else ScriptFailed
    raise kind(error[:ERROR_LETTERS], trace=trace, stdout=out, stderr=err)


def stored_text(raw: bytes) -> str:
    """Bytes as text that can be stored: what is no UTF-8, and NUL, are replaced."""
    return raw.decode("utf-8", errors="replace").replace("\0", "�")


def _parse_json(raw: bytes) -> Any:
    """JSON as the standard has it, or None: no NaN, no half surrogates."""
    parsed = None
    with suppress(ValueError, RecursionError):  # both UnicodeErrors are ValueErrors
        parsed = json.loads(raw, parse_constant=_refuse_constant)
        json.dumps(parsed, ensure_ascii=False).encode()
        return parsed
    return None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _nesting_depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        inner = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [item for items in inner for item in items]
    return depth


def _raise_death(code: int, out: str, err: str) -> NoReturn:
    # The fence ends with 128 + the signal that ended the script; a bare interpreter with minus the signal.
    number = -code if code < 0 else code - 128
    if number == signal.SIGXCPU:
        raise ScriptTimeout("the script used up its time on the processor")
    name = ""
    with suppress(ValueError):
        name = f" of {signal.Signals(number).name}"
    raise ScriptFailed(f"the interpreter died{name} before it gave an answer", stdout=out, stderr=err)
