"""Shell skills with programs that are really started: what is allowed, what they see, and that nothing is left."""

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from configs.sections_skills import SkillSettings
from skills.framework import builtin
from skills.framework.contract import CallEffect, OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import CredentialMissing, SkillDisabled
from skills.framework.manifest import BadManifest, CredentialType, Kind, Manifest, Risk
from skills.framework.skill_guard import CallRecord, NotPermitted, SkillGuard
from skills.shell.command import ProgramNotAllowed, ProgramNotGranted
from skills.shell.process import PATH, ProgramTimeout, ProgramUnstartable
from tests.fakes.ground import KeptSecrets, ground

TEXT = {"type": "string"}
SH, PRINTF, ENV = "/bin/sh", "/usr/bin/printf", "/usr/bin/env"
TRUSTED = (Role.OPERATOR, Role.ADMIN)
ALLOWED = (SH, PRINTF, ENV, "/usr/bin/sleep", "/nowhere/program")
FREE = builtin.shipped_skill("shell_exec")


class NoTrail:
    async def called(self, call: ToolInvocation, what: CallRecord) -> None:
        return None


def call(role: Role = Role.ADMIN, **arguments: Any) -> ToolInvocation:
    return ToolInvocation(Scope(TenantId("t"), WorkspaceId("w"), role=role), None, "k", arguments)


def stand(granted: str | None = None, result_bytes: int = 256_000, off: tuple[str, ...] = ()) -> Any:
    kept = {} if granted is None else {CredentialType.CUSTOM: {"programs": granted}}
    settings = SkillSettings(off=off, shell_allow=ALLOWED, result_bytes=result_bytes)
    return ground(settings=settings, credentials=KeptSecrets(kept))


def skill(*command: str, risk: Risk = Risk.READ, seconds: float = 30, dashes: Any = (), **properties: Any) -> Manifest:
    parameters = {"type": "object", "properties": {**properties}, "required": list(properties)}
    options = {"command": list(command), "dashes": list(dashes)}
    return Manifest("probe", "For tests.", Kind.SHELL, parameters, TRUSTED, risk, seconds=seconds, options=options)


async def run(manifest: Manifest, /, *, stood: Any = None, **arguments: Any) -> Any:
    return await builtin.build_tool(manifest, stood or stand()).run(call(**arguments))


def gone(words: str) -> bool:
    end = time.monotonic() + 10
    while running(words) and time.monotonic() < end:
        time.sleep(0.05)
    return not running(words)


def is_there(path: str) -> bool:
    return Path(path).exists()


def running(words: str) -> list[int]:
    found = psutil.process_iter(["pid", "cmdline"])
    return [one.pid for one in found if words in " ".join(one.info["cmdline"] or ()) and one.pid != os.getpid()]


def test_sk_03_shell_is_off_until_somebody_switches_it_on() -> None:
    """SK-03: the settings as they ship refuse the kind, and name no program."""
    shipped = SkillSettings()
    assert shipped.shell_allow == ()
    for manifest in (FREE, skill(PRINTF, "x")):
        with pytest.raises(SkillDisabled):
            builtin.build_tool(manifest, ground(settings=shipped))
    with pytest.raises(SkillDisabled):
        builtin.build_tool(FREE, stand(off=("shell_exec",)))


async def test_sk_02_a_program_is_started_without_a_shell(tmp_path: Path) -> None:
    """SK-02: an argument is one element, whatever it holds."""
    for text in ("; touch {0}", "$(touch {0})", "`touch {0}`", "x && touch {0}", "' | touch {0}", "*", "$HOME", "é'\""):
        hostile = text.format(tmp_path / "made")
        assert await run(skill(PRINTF, "%s|", "{what}", "end", what=TEXT), what=hostile) == {
            "exit_status": 0,
            "stdout": f"{hostile}|end|",
            "stderr": "",
        }
    assert not (tmp_path / "made").exists()


async def test_a_program_sees_no_environment_no_input_and_a_folder_that_goes() -> None:
    assert (await run(skill(ENV)))["stdout"] == f"PATH={PATH}\n"
    seen = await run(skill(SH, "-c", "pwd; ls -A | wc -l; cat; ls -l /proc/self/fd | wc -l; : > left"))
    folder, files, *_ = seen["stdout"].split()
    assert (files, seen["exit_status"]) == ("0", 0)
    assert folder != str(Path.cwd())
    assert not is_there(folder)


async def test_how_it_ended_is_told() -> None:
    failed = await run(skill(SH, "-c", "echo out; echo err >&2; exit 3"))
    assert failed == {"exit_status": 3, "stdout": "out\n", "stderr": "err\n"}
    killed = await run(skill(SH, "-c", "kill -9 $$"))
    assert (killed["exit_status"], killed["signal"]) == (None, "KILL")
    with pytest.raises(ProgramUnstartable, match="FileNotFoundError"):
        await run(skill("/nowhere/program"))


async def test_au_07_only_programs_that_the_settings_name() -> None:
    """AU-07: by the whole path; neither name nor another spelling nor a neighbour will do."""
    for program in ("/usr/bin/id", "/usr/bin/../bin/env", "/bin/env/", "/usr/bin/sleep2"):
        with pytest.raises(ProgramNotAllowed):
            await run(skill(program))
        with pytest.raises(ProgramNotAllowed):
            await run(FREE, stood=stand(program), program=program)
    for program in ("env", "sh", "", "./env"):
        with pytest.raises(ProgramNotAllowed):
            await run(FREE, stood=stand(f"{program} {ENV}"), program=program)
    bare = ground(settings=SkillSettings(off=(), shell_allow=("env",)), credentials=KeptSecrets())
    with pytest.raises(BadManifest, match="absolute"):
        await run(skill("env"), stood=bare)


async def test_au_07_a_free_command_needs_role_credential_and_its_grant() -> None:
    """AU-07: shell_exec is held by credentials and by roles, both."""
    granted = await run(FREE, stood=stand(f"/bin/true, {PRINTF}"), program=PRINTF, arguments=["%s,%s", "-n", "a\nb"])
    assert granted["stdout"] == "-n,a\nb"
    with pytest.raises(CredentialMissing):
        await run(FREE, program=PRINTF)
    with pytest.raises(ProgramNotGranted):
        await run(FREE, stood=stand("/usr/bin/print /usr/bin/printf2"), program=PRINTF)
    fenced = SkillGuard(stand(PRINTF), NoTrail()).around(FREE)
    for role in set(Role) - set(TRUSTED):
        with pytest.raises(NotPermitted):
            await fenced.run(call(role, program=PRINTF, arguments=["x"]))
    assert (await fenced.run(call(Role.OPERATOR, program=PRINTF, arguments=["x"])))["stdout"] == "x"
    assert FREE.effect is CallEffect.WRITE
    assert FREE.risk is Risk.DESTRUCTIVE


@pytest.mark.parametrize("text", ["-rf", "--help", "-", "a\nb", "a\x00b", "\x1b[2J", "", None, ["a"], True])
async def test_what_is_no_plain_word_is_refused(text: object) -> None:
    with pytest.raises(Invalid):
        await run(skill(PRINTF, "%s", "{what}", what=TEXT), what=text)


async def test_a_template_may_take_dashes_where_it_says_so() -> None:
    assert (await run(skill(PRINTF, "%s", "{what}", dashes=["what"], what=TEXT), what="-x"))["stdout"] == "-x"
    for arguments in (
        {"program": PRINTF, "arguments": ["a\x00"]},
        {"program": 1},
        {"program": PRINTF, "arguments": {}},
    ):
        with pytest.raises(Invalid):
            await run(FREE, stood=stand(PRINTF), **arguments)


@pytest.mark.parametrize(
    "bad",
    [
        skill("{what}", what=TEXT),
        skill(SH, "-c", "{what}", what=TEXT),
        skill(PRINTF, "x={what}", what=TEXT),
        skill(PRINTF, "{other}"),
        skill(PRINTF, "x", what=TEXT),
        skill(PRINTF, "x", dashes=["what"]),
        skill(PRINTF, "a\x00"),
        replace(skill(PRINTF, "x"), permissions=tuple(Role)),
        replace(skill(PRINTF, "x"), credential=CredentialType.SSH),
        replace(skill(PRINTF, "x"), options={"command": PRINTF}),
        replace(skill(PRINTF, "x"), options={}),
        replace(FREE, risk=Risk.WRITE),
        replace(FREE, credential=None),
        replace(FREE, permissions=tuple(Role)),
        replace(FREE, parameters={"type": "object", "properties": {"program": TEXT}, "required": ["program"]}),
    ],
)
def test_what_is_badly_described_is_not_built(bad: Manifest) -> None:
    with pytest.raises(BadManifest):
        builtin.build_tool(bad, stand())


async def test_a_program_that_takes_too_long_is_killed_with_its_children() -> None:
    with pytest.raises(ProgramTimeout):
        await run(skill(SH, "-c", "sleep 71.375 & sleep 71.375; true", seconds=1))
    assert gone("sleep 71.375")
    with pytest.raises(OutcomeUnknown):
        await run(skill(SH, "-c", "sleep 71.376; true", risk=Risk.WRITE, seconds=1))
    assert gone("sleep 71.376")


async def test_what_is_left_in_the_background_ends_with_the_program() -> None:
    answer = await run(skill(SH, "-c", "sleep 71.378 >/dev/null 2>&1 </dev/null & echo away"))
    assert answer["stdout"] == "away\n"
    assert gone("sleep 71.378")


async def test_a_cancelled_call_leaves_no_process() -> None:
    task = asyncio.create_task(run(skill("/usr/bin/sleep", "71.377")))
    while not running("sleep 71.377"):
        assert not task.done()
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone("sleep 71.377")


async def test_output_is_capped() -> None:
    small = stand(result_bytes=4_000)
    endless = await run(skill(SH, "-c", "while :; do echo yyyyyyyyyyyyyyyy; done"), stood=small)
    assert (len(endless["stdout"]), endless["cut"]) == (3_000, True)
    writes = skill(SH, "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo e >&2; exit 4", risk=Risk.WRITE)
    whole = await run(writes, stood=small)
    assert (len(whole["stdout"]), whole["cut"], whole["exit_status"]) == (3_000, True, 4)
