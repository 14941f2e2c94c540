"""Every shipped skill over HTTP and GraphQL, against a server that records what it is sent (SK-04)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from cluster.basics.errors import AosError
from skills.framework.builtin import shipped_skill, shipped_skills
from skills.framework.contract import OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import Secret, SkillDependencies
from skills.framework.manifest import CredentialType, Kind, Manifest, Risk
from skills.framework.redaction import register_opened
from skills.framework.skill_guard import CallRecord, SkillGuard
from skills.http_client.http_answer import ServiceFailed, ServiceGarbled, ServiceNotFound, ServiceRefused, TokenRejected
from tests.fakes.agents import SCOPE
from tests.fakes.ground import ground
from tests.fakes.web import Answer, Asked, Says, Web, as_json, here, web

CASES: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).resolve().parents[1] / "samples" / "web_calls.yaml").read_text(encoding="utf-8")
)
CANARIES = ("tok-canary-1", "key-canary-2", "pw-canary-3", "sec-canary-4", "fresh-canary-5", "sig-canary-6")
LOGIN = "https://login.microsoftonline.com"
BY_TYPE: Mapping[CredentialType, Mapping[str, str]] = {
    CredentialType.BEARER_TOKEN: {"token": "tok-canary-1"},
    CredentialType.HTTP_BASIC: {"username": "anna", "password": "pw-canary-3"},
    CredentialType.API_KEY: {"key": "key-canary-2"},
    CredentialType.CUSTOM: {"token": "tok-canary-1"},
}


@dataclass
class OneSecret:
    """A credential of whatever type is asked for; its `base_url` may be shown."""

    values: Mapping[str, str]

    async def open(self, call: ToolInvocation, manifest: Manifest, refused: str | None = None) -> Secret:
        assert manifest.credential is not None
        secret = Secret("kept", manifest.credential, self.values, frozenset({"base_url", "username"}))
        register_opened(secret)
        return secret


class Quiet:
    """Keeps no trail."""

    async def called(self, call: ToolInvocation, what: CallRecord) -> None:
        """Nothing."""


def local(manifest: Manifest, case: Mapping[str, Any], site: Web) -> tuple[Manifest, SkillDependencies]:
    """The skill as it ships, but that the origin it names is this server's, and a ground that leads there."""
    origin = case.get("at", "https://service.test")
    host = origin.removeprefix("https://")
    near = f"http://{host}:{site.port}"
    options = dict(manifest.options)
    for name in ("url", "base_url"):
        if name in options:
            options[name] = options[name].replace(origin, near)
    if "oauth" in options:
        options["oauth"] = {**options["oauth"], "url": options["oauth"]["url"].replace(LOGIN, near)}
    values: dict[str, str] = {}
    if manifest.credential is not None:
        values = dict(case.get("credential", BY_TYPE[manifest.credential]))
        if "url" in values:
            values["url"] = near + values["url"]
        elif "at" not in case:
            values["base_url"] = near
    if "oauth" in options:  # it is no longer the one that ships, and has to be told
        values["token_url"] = options["oauth"]["url"].replace("{credential.tenant_id}", values.get("tenant_id", ""))
    if "at" in case:
        assert origin in json.dumps(dict(manifest.options)), "the skill does not name this origin"
    made = ground(hosts=(f"{host}:{site.port}",), resolve=here, credentials=OneSecret(values))
    return replace(manifest, options=options), made


async def run(name: str, answer: Answer) -> tuple[Any, Web]:
    """What the skill gives behind its fence, and what was asked."""
    case, manifest = CASES[name], shipped_skill(name)
    arguments = case.get("call", {})
    Draft202012Validator(dict(manifest.parameters)).validate(arguments)
    async with web(answer) as site:
        skill, made = local(manifest, case, site)
        call = ToolInvocation(SCOPE, None, "key-1", arguments)
        return await SkillGuard(made, Quiet()).around(skill).run(call), site


def says(case: Mapping[str, Any]) -> Answer:
    """The service's answer; its token endpoint gives a token."""

    def answer(asked: Asked) -> Says:
        if asked.target.endswith("/oauth2/v2.0/token"):
            return as_json({"access_token": "fresh-canary-5", "token_type": "Bearer", "expires_in": 3599})
        status = case.get("status", 200)
        if "answer" in case:
            return as_json(case["answer"], status)
        more = {"Location": case["location"]} if "location" in case else {}
        return Says(case.get("plain", "").encode(), status, "text/plain", more)

    return answer


def test_every_shipped_skill_is_tried() -> None:
    """SK-04: REST and GraphQL; http_get has tests of its own."""
    web_kinds = {one.name for one in shipped_skills() if one.kind in (Kind.HTTP, Kind.GRAPHQL)} - {"http_get"}
    assert web_kinds == set(CASES)


@pytest.mark.parametrize("name", CASES)
async def test_a_skill_sends_what_the_service_documents(name: str) -> None:
    """SK-04: request line, headers, body, and what is given of the answer."""
    case, manifest = CASES[name], shipped_skill(name)
    given, site = await run(name, says(case))
    sent = site.asked[-1]
    assert sent.line == case["sent"]
    assert case.get("headers", {}).items() <= sent.headers.items()
    assert "idempotency-key" not in sent.headers
    if "variables" in case:
        asked = json.loads(sent.body)
        assert asked["variables"] == case["variables"] and case["asks"] in asked["query"]
    else:
        assert (json.loads(sent.body) if sent.body else None) == case.get("body")
    if "token" in case:
        assert f"{site.asked[0].line} {site.asked[0].body.decode()}" == case["token"]
    assert len(site.asked) == (2 if "token" in case else 1)
    assert given.get("data") == case.get("data")
    assert given.get("text") == case.get("text")
    assert given.get("location") == case.get("location")
    assert manifest.category.count("/") == 1 and manifest.seconds <= 120


def failures(case: Mapping[str, Any], manifest: Manifest) -> Iterator[tuple[Says, type[AosError]]]:
    """What a service may answer in the place of an answer, and what that is called."""
    told = as_json({"error": {"message": f"no: {' '.join(CANARIES)}"}})
    yield replace(told, status=401), TokenRejected
    yield replace(told, status=404), ServiceNotFound
    yield replace(told, status=422), ServiceRefused
    yield replace(told, status=500), ServiceFailed if manifest.risk is Risk.READ else OutcomeUnknown
    if case.get("answer") is not None:
        garbled = ServiceGarbled if manifest.risk is Risk.READ else OutcomeUnknown
        yield Says(b"<html><form action=login></form></html>"), garbled
    if "failing" in case:
        yield as_json(case["failing"]), ServiceRefused


@pytest.mark.parametrize("name", CASES)
async def test_failures_have_names_and_no_secret(name: str) -> None:
    """SK-04: who is not let in, what is not there, what broke, and a login page in the place of an answer."""
    manifest, case = shipped_skill(name), CASES[name]
    for wrong, error in failures(case, manifest):

        def answer(asked: Asked, wrong: Says = wrong) -> Says:
            return says(case)(asked) if "oauth2" in asked.target else wrong

        with pytest.raises(AosError) as raised:
            await run(name, answer)
        assert type(raised.value) is error
        used = manifest.credential and case.get("credential", BY_TYPE[manifest.credential])
        secrets = [one for one in (used or {}).values() if "canary" in one]
        shown = f"{raised.value} {raised.value!r} {raised.value.detail} {raised.value.hint} {raised.value.args}"
        assert not [one for one in (*secrets, *(CANARIES[4:5] if "token" in case else ())) if one in shown]
