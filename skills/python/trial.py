"""Looks whether a script works before an agent gets it, and what it wants to be given; all of it in the sandbox."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from cluster.basics.errors import Permanent
from skills.framework.dependencies import ScriptRunner
from skills.sandbox.sandbox_errors import ScriptFailed, ScriptMemory, ScriptTimeout, ScriptTooBig

Tried = Literal["sample", "loaded"]

# Not parsed in this process: a parser can be brought down by what it parses.
_RUN = re.compile(r"^def\s+run\s*\(\s*([A-Za-z_]\w*)", re.MULTILINE)
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
_LOADS = """

_aos_run = run
def run(payload):
    if not callable(_aos_run):
        raise TypeError("run is not a function")
    return {}
"""


class SampleFailed(Permanent):
    """The script did not work when it was tried, so no agent has it."""

    code = "sample_failed"
    fix = "Mend the script, or send a sample_payload that it is made for."


async def try_script(
    scripts: ScriptRunner, code: str, sample: Mapping[str, Any] | None, seconds: float
) -> tuple[Tried, Mapping[str, Any]]:
    """Run a script with a sample, or where there is none see whether it loads and has a `run`; and what it gave.

    Raises:
        SampleFailed: it does not work; the detail has the script's own error.
        AosError: it cannot be tried here (SandboxMissing), or the sample is no payload (Invalid).
    """
    try:
        if sample is None:
            await scripts.run(code + _LOADS, {}, seconds=seconds)
            return "loaded", {}
        return "sample", (await scripts.run(code, sample, seconds=seconds)).value
    except ScriptFailed as error:
        raise SampleFailed(f"{error.code}: {error.detail}\n{error.trace}".strip()) from error
    except (ScriptMemory, ScriptTimeout, ScriptTooBig) as error:
        raise SampleFailed(f"{error.code}: {error.detail}") from error


def guess_parameters(code: str, sample: Mapping[str, Any] | None) -> dict[str, Any]:
    """A schema for a script that came without one: the sample's keys, else those that `run` reads from its payload.

    What it reads by `payload["x"]` is required, what it reads by `payload.get("x")` is not; more may be given.
    """
    if sample is not None:
        return {"type": "object", "properties": {key: _json_type(value) for key, value in sample.items()}}
    found = _RUN.search(code)
    if found is None:
        return {"type": "object", "properties": {}}
    name = re.escape(found[1])
    wanted = _payload_keys(rf"\b{name}\s*\[\s*(['\"])([^'\"\\]{{1,64}})\1\s*\](?!\s*=[^=])", code)
    optional = _payload_keys(rf"\b{name}\s*\.\s*get\(\s*(['\"])([^'\"\\]{{1,64}})\1", code)
    required = [key for key in wanted if key not in optional]
    made: dict[str, Any] = {"type": "object", "properties": {key: {} for key in dict.fromkeys([*wanted, *optional])}}
    return {**made, "required": required} if required else made


def _payload_keys(pattern: str, code: str) -> list[str]:
    return list(dict.fromkeys(hit[2] for hit in re.finditer(pattern, code)))


def _json_type(value: object) -> dict[str, str]:
    name = _TYPES.get(type(value))
    return {"type": name} if name else {}
