"""GraphQL skills: one operation that the manifest spells out; arguments are its variables, never parts of its text."""

import json
from typing import Any

from skills.framework.contract import CallEffect, OutcomeUnknown, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, Manifest, Risk, options_of
from skills.http_client.endpoint import (
    HttpService,
    ServiceEndpoint,
    ServiceRequest,
    check_declared,
    guaranteed_parameters,
    template_arguments,
)
from skills.http_client.fetch import HttpReply
from skills.http_client.http_answer import AnswerSelector, ServiceGarbled, ServiceRefused, error_text, parse_reply
from skills.http_client.template import HOLE

ACCEPT = "application/graphql-response+json, application/json;q=0.9"  # GraphQL over HTTP


class GraphOptions(ServiceEndpoint):
    """Options of a GraphQL skill: endpoint, operation, and selection of the answer."""

    query: str  # the document, with one operation in it
    # Variable to `{argument}`; without it each argument is the variable of its name.
    variables: dict[str, str] | None = None
    select: str | None = None  # JMESPath, the part of `data` that is given
    failure: str | None = None  # JMESPath on `data`, what a service says there of an operation that failed


class GraphqlSkill:
    """One operation of a GraphQL service."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where the document, the risk and the parameters do not fit together."""
        how = options_of(manifest, GraphOptions)
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._query = manifest, how.query
        place = how.place.model_copy(update={"headers": {"Accept": ACCEPT, **how.headers}})
        self._service = HttpService(manifest, ground, place)
        self._variables = _variable_arguments(manifest, how)
        needed = template_arguments(manifest, how.url)
        check_declared(manifest, needed | set(self._variables.values()), needed)
        self._select = AnswerSelector(how.select, manifest.name)
        self._failure = AnswerSelector(how.failure, manifest.name)

    async def run(self, call: ToolInvocation) -> Any:
        """Give {data}, with {errors} where the service could answer a part only.

        Raises:
            AosError: those of `Service.ask`.
            ServiceGarbled: the answer is not GraphQL's.
            OutcomeUnknown: the same of a mutation.
            ServiceRefused: it answers with errors and no data.
        """
        values = self._manifest.defaults | dict(call.arguments)
        given = {name: values[argument] for name, argument in self._variables.items() if argument in values}
        content = json.dumps({"query": self._query, "variables": given}).encode()
        request = ServiceRequest("POST", values, self.effect is CallEffect.READ, content=content)
        reply = await self._service.ask(call, request)
        try:
            return self._select_data(reply)
        except ServiceGarbled as error:
            if self.effect is CallEffect.READ:
                raise
            raise OutcomeUnknown(f"{reply.status}: {error.detail}") from None

    def _select_data(self, reply: HttpReply) -> dict[str, Any]:
        answer = parse_reply(reply)
        if not isinstance(answer, dict) or not ("data" in answer or "errors" in answer):
            raise ServiceGarbled("the answer has neither data nor errors")
        data, errors = answer.get("data"), answer.get("errors")
        # A field that fails takes those above it with it: all fields null is no data.
        if errors and (not isinstance(data, dict) or all(value is None for value in data.values())):
            raise ServiceRefused(error_text(reply) or "errors without a text")
        if problem := self._failure.of(data) if self._failure.wanted else None:
            raise ServiceRefused(str(problem)[:400])
        return {"data": self._select.of(data), **({"errors": error_text(reply)} if errors else {})}


build = GraphqlSkill


def _variable_arguments(manifest: Manifest, how: GraphOptions) -> dict[str, str]:
    """Variable to argument, checked against the document."""
    from graphql import GraphQLError, NonNullTypeNode, OperationDefinitionNode, parse  # a library of half a second

    try:
        document = parse(how.query, max_tokens=5_000)
    except (GraphQLError, RecursionError) as error:
        raise BadManifest(f"{manifest.name}: options.query is not GraphQL: {str(error)[:300]}") from error
    operations = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
    if len(operations) != 1:
        raise BadManifest(f"{manifest.name}: options.query has {len(operations)} operations; it is to have one")
    kind = operations[0].operation.value
    if kind == "subscription":
        raise BadManifest(f"{manifest.name}: a subscription does not end")
    if (kind == "mutation") != (manifest.risk is not Risk.READ):
        raise BadManifest(f"{manifest.name}: a {kind} and risk {manifest.risk} do not fit")
    wanted = {one.variable.name.value: one for one in operations[0].variable_definitions or ()}
    given = how.variables
    if given is None:
        arguments = manifest.parameters.get("properties", {})
        given = {name: f"{{{name}}}" for name in wanted if name in arguments}
    found = {}
    for name, text in given.items():
        hole = HOLE.fullmatch(text)
        if hole is None or hole[1] or "." in hole[2] or name not in wanted:
            raise BadManifest(f"{manifest.name}: options.variables.{name}: no variable there, or no {{argument}}")
        found[name] = hole[2]
    for name, one in wanted.items():
        needed = isinstance(one.type, NonNullTypeNode) and one.default_value is None
        if needed and found.get(name) not in guaranteed_parameters(manifest):
            raise BadManifest(f"{manifest.name}: the query needs ${name}, and no argument is sure to give it")
    return found
