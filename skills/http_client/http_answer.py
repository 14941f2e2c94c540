"""Parsing of a service's answer: JSON, a text, or an error by name."""

import json
import math
from collections.abc import Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from cluster.basics.errors import AosError, Permanent, Transient
from skills.framework.contract import OutcomeUnknown
from skills.framework.manifest import BadManifest
from skills.http_client.fetch import HttpReply

MOST_SAID = 400  # characters of what a service says of a failure
MOST_EXPRESSION = 500  # characters
MOST_GROWTH = 64  # so many times over an expression may write what it reads: [@, @] | [@, @] | … doubles at each step


class ServiceDenied(Permanent):
    """The service does not let this credential in, or not to this."""

    code, status = "service_denied", 502
    fix = "Check the credential that is bound to this skill, and what it may do there."


class TokenRejected(ServiceDenied):
    """The service does not know who calls: nothing was done."""


class ServiceNotFound(Permanent):
    """The service has no such thing."""

    code, status = "service_not_found", 404


class ServiceRefused(Permanent):
    """The service does not accept the request."""

    code, status = "service_refused", 422


class ServiceBusy(Transient):
    """The service asks to wait."""

    code, status = "service_busy", 429


class ServiceFailed(Transient):
    """The service failed."""

    code, status = "service_failed", 502


class ServiceGarbled(Permanent):
    """The service's answer is not of the form that it documents."""

    code, status = "service_garbled", 502
    fix = "Look whether the address is this service's, and not that of a login page or a proxy."


class AnswerSelector:
    """Selection from a JSON answer: a JMESPath expression, or all of it."""

    def __init__(self, expression: str | None, name: str) -> None:
        """Raises BadManifest where it is no expression; `name` is the skill's."""
        try:
            if len(expression or "") > MOST_EXPRESSION:
                raise BadManifest(f"{name}: an expression has up to {MOST_EXPRESSION} characters")
            self._found = None if expression is None else jmespath.compile(expression)
        except (JMESPathError, RecursionError) as error:
            raise BadManifest(f"{name}: {expression!r} is not JMESPath: {str(error)[:300]}") from error
        if self._found is not None and _expression_growth(self._found.parsed) > MOST_GROWTH:
            raise BadManifest(f"{name}: {expression!r} repeats what it reads more than {MOST_GROWTH} times")

    @property
    def wanted(self) -> bool:
        """True where there is an expression."""
        return self._found is not None

    def of(self, value: Any) -> Any:
        """The expression's result on a value. Raises ServiceGarbled: the value has another form."""
        if self._found is None:
            return value
        try:
            return self._found.search(value)
        except JMESPathError as error:
            raise ServiceGarbled(f"the answer has another form: {type(error).__name__}") from error


def raise_refusal(reply: HttpReply, reads: bool) -> None:
    """Nothing, where the service has done what was asked; `reads` says that it changes nothing there.

    Raises:
        ServiceDenied, ServiceNotFound, ServiceRefused, ServiceBusy, ServiceFailed: by the status.
        OutcomeUnknown: it failed while it changed something.
    """
    if reply.status < 300:
        return
    said = error_text(reply)
    raise _failure_class(reply.status, reads)(f"{reply.status}: {said}" if said else f"{reply.status}")


def parse_reply(reply: HttpReply) -> Any:
    """JSON; None for an empty body. Raises ServiceGarbled: it is something else."""
    if not reply.text.strip():
        return None
    try:
        return json.loads(reply.text)
    except (RecursionError, ValueError) as error:
        raise ServiceGarbled(f"the answer is no JSON but {reply.kind or 'nothing that has a type'}") from error


def error_text(reply: HttpReply) -> str:
    """The service's error message, short; nothing of an HTML page."""
    if reply.kind == "text/html":
        return ""
    try:
        value = json.loads(reply.text)
    except (RecursionError, ValueError):
        return " ".join(reply.text.split())[:MOST_SAID]
    return _error_message(value, 4)[:MOST_SAID]


def _failure_class(status: int, reads: bool) -> type[AosError]:
    if status == 401:
        return TokenRejected
    if status in (403, 407):
        return ServiceDenied
    if status in (404, 410):
        return ServiceNotFound
    if status == 429:
        return ServiceBusy
    if status >= 500:
        # 501 and 503 are said before anything is done; of the others nobody knows.
        return ServiceFailed if reads or status in (501, 503) else OutcomeUnknown
    return ServiceRefused


def _expression_growth(node: Mapping[str, Any]) -> int:
    """Upper bound on how often a parsed expression repeats its input in its result."""
    each = [_expression_growth(child) for child in node["children"] if isinstance(child, Mapping)]
    match node["type"]:
        case "literal":
            return 1 + len(str(node["value"])) // 50
        case "multi_select_list" | "multi_select_dict":
            return max(1, sum(each))
        case "function_expression" if node["value"] == "join" and node["children"][0]["type"] != "literal":
            return MOST_GROWTH + 1  # the separator may be as long as the list
        case "function_expression" if node["value"] == "map":
            return math.prod(each)
        case "function_expression":
            # A quote inside of a quoted text takes two characters, and é six.
            return max(1, sum(each)) * (6 if node["value"] == "to_string" else 1)
        case _:
            return math.prod(each)


def _error_message(value: Any, deep: int) -> str:
    """The texts of an error object: services call them message, error, detail, errors, title ..."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and deep:
        named = ("message", "errorMessages", "error", "error_description", "errors", "detail", "description", "reason")
        texts = [_error_message(value[name], deep - 1) for name in named if value.get(name)]
        return "; ".join(dict.fromkeys(one for one in texts if one)) or json.dumps(value)
    if isinstance(value, list) and deep:
        return "; ".join(_error_message(one, deep - 1) for one in value[:5])
    return json.dumps(value)
