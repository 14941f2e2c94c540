"""The fence: roles, time, JSON, sizes, secrets, and a line in the trail for each call."""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cluster.basics.errors import AosError, Invalid, Unavailable
from cluster.basics.scope import Role
from configs.sections_skills import SkillSettings
from skills.framework.builtin import BASE, NotCallable, build_tool, shipped_names, shipped_skill, shipped_skills
from skills.framework.catalogue import check_spec
from skills.framework.contract import CallEffect, Tool, ToolInvocation
from skills.framework.dependencies import SkillDependencies, SkillDisabled
from skills.framework.frozen_skill import freeze_skill, thaw_skill
from skills.framework.manifest import BadManifest, CredentialType, Kind, Manifest, Risk, read_manifest
from skills.framework.skill_guard import CallRecord, GuardedSkill, SkillGuard, is_search_tool, tool_nature
from skills.framework.skill_store import SkillStore
from skills.http_client.http_answer import AnswerSelector
from tests.fakes.agents import SCOPE
from tests.fakes.crew import FakeTool
from tests.fakes.ground import GivenPassages, GivenScripts, KeptSecrets, ground

CANARY = "canary-7f3a91c2"


@dataclass
class Lines:
    """A trail in memory, or one that cannot be written."""

    kept: list[tuple[ToolInvocation, CallRecord]] = field(default_factory=list)
    failing: AosError | None = None

    async def called(self, call: ToolInvocation, what: CallRecord) -> None:
        if self.failing is not None:
            raise self.failing
        self.kept.append((call, what))

    @property
    def codes(self) -> list[str]:
        return [what.code for _, what in self.kept]


def call(role: Role = Role.DEVELOPER, **arguments: Any) -> ToolInvocation:
    return ToolInvocation(replace(SCOPE, role=role), "a1", "k", arguments)


def script(made: Callable[..., Any], lines: Lines, on: SkillDependencies | None = None, **other: Any) -> GuardedSkill:
    """A python skill whose script is a function of this process."""
    manifest = replace(Manifest("s", "A script.", Kind.PYTHON, code="def run(payload): ..."), **other)
    return SkillGuard(on or ground(scripts=GivenScripts(made)), lines).around(manifest)


async def test_sk_10_a_script_is_given_a_payload_and_gives_a_dict() -> None:
    """SK-10: `def run(payload)`; the trail has the call, and nothing of what was said."""
    scripts, lines = GivenScripts(lambda source, payload: {"said": payload["text"]}), Lines()
    tool = script(scripts.script, lines, ground(scripts=scripts))
    assert await tool.run(call(text=CANARY)) == {"said": CANARY}
    assert scripts.ran == [("def run(payload): ...", {"text": CANARY})]
    assert lines.codes == ["ok"] and CANARY not in repr(lines.kept[0][1])


@pytest.mark.parametrize(("role", "code"), [(Role.VIEWER, "skill_not_permitted"), (Role.OPERATOR, "ok")])
async def test_only_the_roles_of_a_skill_may_use_it(role: Role, code: str) -> None:
    """SK-17: the caller's own role, not the agent's; a refusal is in the trail."""
    lines = Lines()
    tool = script(lambda source, payload: {}, lines, permissions=(Role.OPERATOR, Role.ADMIN))
    if code == "ok":
        await tool.run(call(role))
    else:
        with pytest.raises(AosError, match="operator or admin; yours is viewer"):
            await tool.run(call(role))
    assert lines.codes == [code]


@dataclass
class Slow:
    seconds: float

    async def run(self, source: str, payload: Any, *, seconds: float | None = None) -> Any:
        await asyncio.sleep(self.seconds)
        return GivenScripts(lambda *_: {})


async def test_a_reading_skill_is_stopped_at_its_time() -> None:
    lines = Lines()
    with pytest.raises(AosError, match="did not end within"):
        await script(lambda *_: {}, lines, ground(scripts=Slow(5)), seconds=0.05).run(call())
    assert lines.codes == ["skill_timeout"]


async def test_a_call_that_is_cancelled_is_in_the_trail() -> None:
    lines = Lines()
    task = asyncio.create_task(script(lambda *_: {}, lines, ground(scripts=Slow(5))).run(call()))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lines.codes == ["cancelled"]


@pytest.mark.parametrize(
    ("given", "code"),
    [({"a": {1, 2}}, "skill_bad_result"), ({"a": float("nan")}, "skill_bad_result"), (None, "skill_broken")],
)
async def test_what_is_no_json_or_no_code_is_an_error_by_name(
    given: Any, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    lines = Lines()
    with caplog.at_level(logging.CRITICAL), pytest.raises(AosError):
        await script(lambda *_: given, lines).run(call())
    assert lines.codes == [code]


async def test_a_result_that_is_small_until_it_is_written_out_is_refused() -> None:
    """Regression: a list of lists of … the same list took all memory there is."""
    grown: Any = ["x"]
    for _ in range(60):
        grown = [grown, grown]
    lines = Lines()
    with pytest.raises(AosError, match="characters"):
        await script(lambda *_: {"a": grown}, lines).run(call())
    assert lines.codes == ["skill_bad_result"]


@pytest.mark.parametrize(
    "expression",
    [
        "|".join(["[@,@]"] * 12),
        "[@,@][]|" * 8 + "@",
        "[@,@].[@,@].[@,@].[@,@].[@,@].[@,@].[@,@]",
        "map(&[@,@,@,@,@,@,@,@,@], [@,@,@,@,@,@,@,@,@])",
        "join(a, b)",
        "to_string([to_string([to_string([@])])])",
        "(" * 400 + "a" + ")" * 90,
        "!" * 499 + "a",
        "a" * 501,
    ],
)
def test_an_expression_that_multiplies_what_it_reads_is_refused(expression: str) -> None:
    """Regression: a short JMESPath took all memory there is."""
    with pytest.raises(BadManifest):
        AnswerSelector(expression, "s")


def test_an_expression_that_chooses_is_taken() -> None:
    value = {"a": [{"b": n, "c": str(n), "d": None} for n in range(9)]}
    assert AnswerSelector("{n: length(a), all: a[?b > `6`].{b: b, c: c} | [0]}", "s").of(value) == {
        "n": 9,
        "all": {"b": 7, "c": "7"},
    }
    assert AnswerSelector("join(', ', a[:2].c)", "s").of(value) == "0, 1"


async def test_a_result_is_cut_where_it_is_too_large() -> None:
    settings = SkillSettings(off=(), result_bytes=1_000)
    on = ground(settings=settings, scripts=GivenScripts(lambda *_: {"text": "é" * 2_000}))
    given = await script(lambda *_: {}, Lines(), on).run(call())
    assert given["cut"] and given["bytes"] > 4_000 and len(json.dumps(given, ensure_ascii=False).encode()) < 1_200


@dataclass
class Leaky:
    """A tool that opens its secret and says it."""

    on: SkillDependencies
    manifest: Manifest
    fails: type[Exception] | None = None

    async def run(self, call_: ToolInvocation) -> Any:
        secret = await self.on.credentials.open(call_, self.manifest)
        if self.fails is not None:
            raise self.fails(f"cannot sign in with {secret['token']}")
        return {"echo": f"Bearer {secret['token']}", secret["token"]: 1}


@pytest.mark.parametrize("fails", [None, Unavailable, ValueError])
async def test_cv_05_what_was_opened_for_a_call_is_in_nothing_that_the_call_says(
    fails: type[Exception] | None, caplog: pytest.LogCaptureFixture
) -> None:
    """CV-05: results and errors; and the next call, which opens nothing, is left as it is."""
    manifest = Manifest("leak", "Leaks.", Kind.PYTHON, credential=CredentialType.BEARER_TOKEN, code="x")
    on = ground(credentials=KeptSecrets({CredentialType.BEARER_TOKEN: {"token": CANARY}}))
    lines = Lines()
    tool = SkillGuard(on, lines).around(manifest)
    tool._tool = Leaky(on, manifest, fails)  # type: ignore[assignment]
    if fails is None:
        assert CANARY not in json.dumps(await tool.run(call()))
    else:
        with caplog.at_level(logging.CRITICAL), pytest.raises(AosError) as caught:
            await tool.run(call())
        assert CANARY not in f"{caught.value} {caught.value.detail} {caught.value.hint} {caught.value.args}"
    assert CANARY not in repr(lines.kept)
    assert await script(lambda *_: {"text": CANARY}, lines).run(call()) == {"text": CANARY}


async def test_a_trail_that_cannot_be_written_does_not_undo_what_was_done(caplog: pytest.LogCaptureFixture) -> None:
    tool = script(lambda *_: {"done": True}, Lines(failing=Unavailable("Postgres went away")))
    assert await tool.run(call()) == {"done": True}
    assert "not in the trail" in caplog.text


async def test_a_kind_that_is_off_says_so_when_it_is_called_and_not_before() -> None:
    """A replay tells models the same whatever was switched off since."""
    lines = Lines()
    on = ground(settings=SkillSettings(off=("python_inline",)))
    tool = script(lambda *_: {}, lines, on)
    assert tool.spec.name == "s" and tool.effect is CallEffect.READ
    with pytest.raises(AosError, match="skills of type python are off"):
        await tool.run(call())
    assert lines.codes == ["skill_disabled"]


def test_sk_01_internal_skills_and_delegation_are_no_tools_of_their_own() -> None:
    """SK-01: a skill without a type is internal, and never callable."""
    internal = read_manifest("---\nname: tone\ndescription: How we speak.\n---\nBe brief.")
    assert (internal.kind, internal.text) == (Kind.INTERNAL, "Be brief.")
    for manifest in (internal, shipped_skill("delegate")):
        with pytest.raises(NotCallable):
            build_tool(manifest, ground())


@pytest.mark.parametrize(
    ("alias", "kind"),
    [
        ("python_inline", "python"),
        ("http_call", "http"),
        ("shell_exec", "shell"),
        ("ssh_command", "ssh"),
        ("sql_query", "sql"),
        ("scrapling", "scrape"),
        ("agent_delegation", "delegate"),
        ("REST", None),
        ("rest", "http"),
        ("docker", "docker"),
        ("huggingface", "huggingface"),
    ],
)
def test_sk_02_sk_03_sk_04_each_name_of_the_lists_is_one_kind(alias: str, kind: str | None) -> None:
    """SK-02, SK-03, SK-04: one canonical list (X-12), other names are aliases, anything else is refused."""
    text = f"---\nname: s\ndescription: d\ntype: {alias}\n---\n"
    if kind is None:
        with pytest.raises(Invalid):
            read_manifest(text)
    else:
        assert read_manifest(text).kind == kind


def test_every_skill_that_ships_is_described_and_can_be_built() -> None:
    """EX-15: what is on the shelf is found by itself; each name is there once and has a category."""
    found = shipped_skills()
    assert {one.name for one in found} == shipped_names() and len(found) == len(shipped_names())
    assert set(BASE) <= shipped_names()
    for manifest in found:
        domain, _, group = manifest.category.partition("/")
        assert domain and group, f"{manifest.name} has no category of the form Domain/Group"
        if manifest.kind not in (Kind.INTERNAL, Kind.DELEGATE):
            tool = build_tool(manifest, ground())
            assert tool.spec == manifest.spec and tool.effect == manifest.effect, manifest.name
        check_spec(manifest.spec)


def test_kind_and_risk_of_a_tool_are_those_of_its_manifest() -> None:
    around = SkillGuard(ground(passages=GivenPassages()), Lines())
    fenced: Tool = around.around(Manifest("d", "Drops.", Kind.SQL, risk=Risk.DESTRUCTIVE))
    assert tool_nature(fenced) == ("sql", "destructive")
    assert tool_nature(FakeTool()) == ("", "read") and tool_nature(FakeTool(effect=CallEffect.WRITE)) == ("", "write")
    assert is_search_tool(around.around(shipped_skill("semantic_search"))) and not is_search_tool(
        around.around(shipped_skill("calculator"))
    )
    assert is_search_tool(build_tool(shipped_skill("search_knowledge"), ground()))


def test_sk_04_what_reaches_the_machine_itself_is_off_until_it_is_named() -> None:
    """SK-04: shells, container engines and playbooks."""
    for kind in (Kind.SHELL, Kind.DOCKER, Kind.ANSIBLE):
        with pytest.raises(SkillDisabled):
            build_tool(Manifest("x", "For tests.", kind), ground(settings=SkillSettings()))


def test_a_console_needs_no_password_and_is_for_operators() -> None:
    console = shipped_skill("openstack_server_console")
    assert (console.risk, set(console.permissions)) == (Risk.WRITE, {Role.OPERATOR, Role.ADMIN})
    for wrong in (replace(console, risk=Risk.READ), replace(console, permissions=tuple(Role))):
        with pytest.raises(BadManifest):
            build_tool(wrong, ground())


EXPRESSIONS: list[dict[str, Any]] = [
    {"a": {"type": "string", "pattern": "^(a+)+$"}},
    {"a": {"patternProperties": {"^(a+)+$": {}}}},
    {"a": {"anyOf": [{"propertyNames": {"pattern": "^(a+)+$"}}]}},
    {"pattern": {"items": {"pattern": "^(a+)+$"}}},
    {"properties": {"properties": {"a": {"pattern": "^(a+)+$"}}}},
]


@pytest.mark.parametrize("properties", EXPRESSIONS)
def test_a_schema_of_a_workspace_has_no_regular_expressions(properties: dict[str, Any]) -> None:
    """Regression: ^(a+)+$ against thirty letters stopped the process. Versions that have one are read without it."""
    mine = Manifest("mine", "For tests.", parameters={"type": "object", "properties": properties}, text="Be brief.")
    with pytest.raises(Invalid, match="is not taken"):
        SkillStore.check(mine)
    old = thaw_skill(freeze_skill(mine))
    assert "(a+)+" not in json.dumps(old.parameters) and list(old.parameters["properties"]) == list(properties)
    SkillStore.check(old)


def test_a_property_may_be_called_pattern() -> None:
    properties = {"pattern": {"type": "string", "default": "%"}, "a": {"const": {"pattern": "x"}}}
    mine = Manifest("mine", "For tests.", parameters={"type": "object", "properties": properties}, text="Be brief.")
    SkillStore.check(mine)
    assert thaw_skill(freeze_skill(mine)).parameters == mine.parameters
    unit = shipped_skill("ssh_unit_status")
    assert thaw_skill(freeze_skill(unit)).parameters == unit.parameters and "pattern" in json.dumps(unit.parameters)
