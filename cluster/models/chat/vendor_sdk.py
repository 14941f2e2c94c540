"""Chat calls over a vendor's SDK: a request out, decoded JSON events in, time limits, and a clean end."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import httpx2

from cluster.basics.bounded_answers import holds_events
from cluster.basics.errors import AosError, Invalid, Unavailable
from cluster.models.chat.openai_requests import OPTIONAL, drop_refused_fields, refused_field, sampling_refusal
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.model_errors import Unusable

Omit = TypeVar("Omit")

MOST_REFUSED = 4  # optional fields that a server may refuse one after the other within one call


@dataclass(slots=True)
class EndpointQuirks:
    """Quirks of an endpoint, learned while it was used: optional fields that it refuses, with their other names."""

    refused: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatTimeouts:
    """Seconds: to connect, and for a whole answer. The longest silence is the connection's own."""

    connect: float = 10.0
    whole: float = 900.0


class SdkStream(Protocol):
    """A response as both libraries give it: decoded events, the HTTP response, and its end."""

    response: httpx2.Response

    def __aiter__(self) -> AsyncIterator[object]:
        """The events."""

    async def close(self) -> None:
        """Give the connection back, or break it off."""


class SdkCaller(Protocol):
    """One vendor's library."""

    async def post(self, body: Mapping[str, Any], timeout: httpx2.Timeout) -> SdkStream:
        """Send; raises the library's own errors."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions that the library raises."""

    def classified(self, error: Exception) -> AosError:
        """Translate one of `errors` into one of ours."""


def own_headers(ours: Mapping[str, str], theirs: Iterable[str], omit: Omit) -> dict[str, str | Omit]:
    """Our headers and none of the library's: it takes some from the environment, which are not for every endpoint."""
    headers: dict[str, str | Omit] = {**_PLAIN, **ours}
    known = {name.lower() for name in headers}
    left_out = (name for name in (*theirs, "Authorization", "X-API-Key") if name.lower() not in known)
    return {**dict.fromkeys(left_out, omit), **headers}


class StreamingCall:
    """A request with its answer: opened, read event by event, closed. Nothing of one is kept for the next."""

    def __init__(
        self, caller: SdkCaller, connection: ModelConnection, habits: EndpointQuirks, limits: ChatTimeouts
    ) -> None:
        """`habits` are shared by the calls of an endpoint; what this call learns is added to them."""
        self._caller, self._errors = caller, (*_BYTES, *caller.errors)
        self._seconds, self._habits, self._limits = connection.seconds, habits, limits

    async def events(self, body: Mapping[str, Any], wishes: Set[str] = frozenset()) -> AsyncGenerator[Any, None]:
        """The decoded events, or a whole body as the only one. Closing the generator closes the response.

        `wishes` are fields that a client set: an endpoint that refuses one of them refuses the call.

        Raises Unavailable, Busy, Unusable, Invalid: as ChatModel.
        """
        until = asyncio.get_running_loop().time() + self._limits.whole
        stream = await self._open_stream(dict(body), wishes)
        try:
            kind = stream.response.headers.get("content-type", "").lower()
            if "html" in kind:
                raise Unusable("there is a web page at this address, not an API of a model")
            if not holds_events(stream.response.headers):
                yield await self._whole(stream.response)
                return
            events = aiter(stream)
            while (event := await self._next_event(events, until)) is not _END:
                yield event
        finally:
            await stream.close()

    async def _open_stream(self, body: dict[str, Any], wishes: Set[str]) -> SdkStream:
        for _ in range(MOST_REFUSED):
            self._check_wishes(wishes)
            sent = drop_refused_fields(body, self._habits.refused)
            try:
                return await self._post_request(sent)
            except Invalid as error:
                if isinstance(error, Unusable):
                    raise
                name = refused_field(error.detail, sent)
                if name is None and "tools" in sent and _NO_TOOLS.search(error.detail):
                    # Another connection may take them; without them the model would answer another question.
                    raise Unusable(error.detail, fix="Set supports_tools of this connection to false.") from error
                if name is None:
                    raise
                self._habits.refused[name] = OPTIONAL[name]
        self._check_wishes(wishes)
        return await self._post_request(drop_refused_fields(body, self._habits.refused))

    def _check_wishes(self, wishes: Set[str]) -> None:
        if refused := sorted(wishes & self._habits.refused.keys()):
            raise sampling_refusal(refused)

    async def _post_request(self, body: Mapping[str, Any]) -> SdkStream:
        timeout = httpx2.Timeout(self._seconds, connect=min(self._limits.connect, self._seconds))
        try:
            # The library's own limit is per read: headers that trickle in would keep it waiting for ever.
            async with asyncio.timeout(self._seconds + self._limits.connect):
                return await self._caller.post(body, timeout)
        except TimeoutError:
            raise self._silence_error() from None
        except UnicodeEncodeError as error:
            raise Invalid(f"the request cannot be encoded: {error.reason}") from error
        except self._errors as error:
            raise self._translate_error(error) from error

    async def _next_event(self, events: AsyncIterator[object], until: float) -> object:
        now = asyncio.get_running_loop().time()
        if now >= until:
            raise self._endless_error()
        try:
            async with asyncio.timeout_at(min(now + self._seconds, until)):
                return await anext(events)
        except StopAsyncIteration:
            return _END
        except TimeoutError:
            if asyncio.get_running_loop().time() >= until:
                raise self._endless_error() from None
            raise self._silence_error() from None
        except self._errors as error:
            raise self._translate_error(error) from error

    async def _whole(self, response: httpx2.Response) -> object:
        try:
            async with asyncio.timeout(self._seconds):
                return json.loads(await response.aread())
        except TimeoutError:
            raise self._silence_error() from None
        except self._errors as error:
            raise self._translate_error(error) from error

    def _translate_error(self, error: Exception) -> AosError:
        cause = error if isinstance(error, httpx2.TimeoutException) else error.__cause__
        if isinstance(cause, AosError):  # ours, raised where the connection is made: the library wraps what it meets
            return cause
        if isinstance(cause, httpx2.ConnectTimeout):
            return Unavailable("the model cannot be reached: connecting took too long")
        if isinstance(cause, httpx2.TimeoutException):
            return self._silence_error()
        if isinstance(error, self._caller.errors):
            return self._caller.classified(error)
        if isinstance(error, httpx2.RequestError):
            return Unavailable(f"the connection to the model broke: {error}")
        return Unavailable("the model's server sent what is no JSON")

    def _endless_error(self) -> Unavailable:
        return Unavailable(f"the model's answer takes longer than {self._limits.whole:g} s")

    def _silence_error(self) -> Unavailable:
        return Unavailable(f"the model did not answer within {self._seconds:g} s")


_END = object()
_NO_TOOLS = re.compile(
    r"\btools?\b.{0,60}(support|requires|unrecognized|unknown|not permitted)|support.{0,20}\btools?\b|"
    r"argument supplied: tools",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "aos"}
# ValueError: no UTF-8, or no JSON; RecursionError: JSON that is nested without end.
_BYTES: tuple[type[Exception], ...] = (httpx2.RequestError, ValueError, RecursionError)
