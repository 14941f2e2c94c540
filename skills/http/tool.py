"""REST skills: a method, an address and templates from the manifest; arguments fill in what it leaves open."""

from typing import Any, Literal

from pydantic import Field, model_validator

from skills.framework.contract import OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, Manifest, Risk, options_of
from skills.http_client import template
from skills.http_client.endpoint import HttpService, ServiceEndpoint, ServiceRequest, check_declared, template_arguments
from skills.http_client.fetch import READING, HttpReply
from skills.http_client.http_answer import AnswerSelector, ServiceGarbled, ServiceRefused, parse_reply


class RestOptions(ServiceEndpoint):
    """Options of a REST skill: method, endpoint, templates, and selection of the answer."""

    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    # Parameter to template; a parameter whose argument is not given is left out.
    query: dict[str, Any] = Field(default_factory=dict)
    body: Any = None  # a template of JSON
    form: dict[str, Any] = Field(default_factory=dict)  # a template of form fields, in the place of a body
    gives: Literal["json", "text"] = "json"  # `json`, or `text` as logs are
    select: str | None = None  # JMESPath, the part of a JSON answer that is given
    failure: str | None = None  # JMESPath, what a service says that answers 200 and has failed

    @model_validator(mode="after")
    def _one_body(self) -> "RestOptions":
        if self.body is not None and self.form:
            raise ValueError("body and form: one of them")
        if self.method in READING and (self.body is not None or self.form):
            raise ValueError(f"{self.method} has no body")
        return self


class RestSkill:
    """One operation of a REST service."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where options, risk and parameters do not fit together."""
        how = options_of(manifest, RestOptions)
        if (manifest.risk is Risk.READ) != (how.method in READING):
            raise BadManifest(f"{manifest.name}: {how.method} and risk {manifest.risk} do not fit")
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._how, self._most = manifest, how, ground.settings.result_bytes
        self._service = HttpService(manifest, ground, how.place)
        needed = template_arguments(manifest, how.url)
        check_declared(manifest, needed | template_arguments(manifest, [how.query, how.body, how.form]), needed)
        self._select = AnswerSelector(how.select, manifest.name)
        self._failure = AnswerSelector(how.failure, manifest.name)

    async def run(self, call: ToolInvocation) -> Any:
        """Give {status, data} of JSON or {status, text}; an empty answer is {status}.

        What changes something and is answered with what is no text gives {status, content_type}; a `location` is added.

        Raises:
            AosError: those of `Service.ask`.
            ServiceGarbled: the answer is not what the service documents.
            OutcomeUnknown: the same of what changes something.
            ServiceRefused: it says in an answer that looks well that it has failed.
        """
        how, values = self._how, self._manifest.defaults | dict(call.arguments)
        content, kind = self._request_body(values)
        request = ServiceRequest(how.method, values, how.method in READING, how.query, content, kind)
        reply = await self._service.ask(call, request)
        given: dict[str, Any] = {"status": reply.status}
        if (reply.unread or reply.status in (201, 202)) and "location" in reply.headers:
            given["location"] = reply.headers["location"][:2_000]
        if reply.unread:
            return given | ({"content_type": reply.kind[:100]} if reply.kind else {})
        if how.gives == "text":
            return given | _text_result(reply, self._most)
        try:
            value = parse_reply(reply)
            if value is None:
                return given
            if self._failure.wanted and (said := self._failure.of(value)):
                raise ServiceRefused(str(said)[:400])
            return given | {"data": self._select.of(value)}
        except ServiceGarbled as error:
            if how.method in READING:
                raise
            raise OutcomeUnknown(f"{reply.status}: {error.detail}") from None

    def _request_body(self, values: dict[str, Any]) -> tuple[bytes | None, str]:
        how = self._how
        if how.form:
            return template.fill_query(how.form, values).encode(), "application/x-www-form-urlencoded"
        return (None if how.body is None else template.fill_body(how.body, values)), "application/json"


build = RestSkill


def _text_result(reply: HttpReply, most: int) -> dict[str, Any]:
    data = reply.text.encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return {"text": reply.text}
    return {"text": data[:most].decode("utf-8", "ignore"), "cut": True}
