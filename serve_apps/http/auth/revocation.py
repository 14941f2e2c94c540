"""Streams end with the credential that opened them: tokens and keys are looked at again every two seconds."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from cluster.basics.errors import AosError, Transient, Unauthenticated
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.http.streams.response import first_of
from serve_apps.http.streams.sse import encode_event

log = logging.getLogger("aos.http")

PAUSE_SECONDS: Final = 2.0  # what has ended is refused within five
FAREWELL_SECONDS: Final = 1.0  # for the last words to a reader who may not be reading
EVENTS: Final = "text/event-stream"
Look = Callable[[], Awaitable[WorkspaceMember | None]]


class CredentialEnded(Unauthenticated):
    """This token or key is of no use any more."""

    code = "credential_ended"
    fix = "Get a new token with POST /api/auth/refresh, or sign in again; a revoked API key stays revoked."


@dataclass(frozen=True, slots=True)
class AuthenticatedCaller:
    """Authenticated caller with the credential, and the lookup that says whether it is still valid.

    Attributes:
        member: as they were when they came in.
        credential: what they have shown.
        look: who is behind it now; None where it has ended. That an access token only ran out is not looked at: what
            was begun in time may be told to its end.
    """

    member: WorkspaceMember
    credential: str
    look: Look


def still_may(now: WorkspaceMember | None, then: WorkspaceMember) -> bool:
    """True for somebody who may do what they could; more groups than then take nothing away."""
    return now is not None and replace(now, groups=then.groups) == then and set(then.groups) <= set(now.groups)


class LongLived(Response):
    """A response that may take as long as it likes and is written by somebody else."""


class WholeFile(LongLived):
    """A file: where it is cut off, it must not look as if it were all of it."""


class RevocationWatch:
    """Looks for all streams of one credential together, so that a page with ten of them costs one look."""

    def __init__(self, pause: float = PAUSE_SECONDS) -> None:
        """`pause` in seconds between two looks."""
        self._pause = pause
        self._watched: dict[tuple[str, WorkspaceMember], tuple[asyncio.Task[None], int]] = {}

    def __len__(self) -> int:
        """Number of watched credentials."""
        return len(self._watched)

    async def ended(self, entry: AuthenticatedCaller) -> None:
        """Wait until the credential has ended, or its owner may do other things than when the stream began."""
        key = (entry.credential, entry.member)
        task, readers = self._watched.get(key) or (asyncio.create_task(self._until_ended(entry)), 0)
        self._watched[key] = (task, readers + 1)
        try:
            await asyncio.shield(task)
        finally:
            _, readers = self._watched[key]
            if readers > 1:
                self._watched[key] = (task, readers - 1)
            else:
                del self._watched[key]
                task.cancel()

    async def _until_ended(self, entry: AuthenticatedCaller) -> None:
        while True:
            await asyncio.sleep(self._pause)
            try:
                if not still_may(await entry.look(), entry.member):
                    return
            except Transient as error:
                log.warning("whether an open stream's credential still holds could not be looked up: %s", error)


class WatchedResponse(Response):
    """Another response, which is cut off when the credential that asked for it has ended."""

    def __init__(self, response: Response, watch: RevocationWatch, entry: AuthenticatedCaller) -> None:
        super().__init__(status_code=response.status_code)
        self.raw_headers = response.raw_headers
        self._response, self._watch, self._entry = response, watch, entry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until all is sent, nobody reads, or the credential has ended.

        Raises CredentialEnded: before anything was sent, and in the middle of a file.
        """
        started: list[Message] = []

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
            await send(message)

        async with first_of(self._response(scope, receive, noting), self._watch.ended(self._entry)) as (sending, _):
            if sending.done():
                try:
                    sending.result()
                    return
                except AosError:
                    # A job that is gone because its tenant is: its reader hears of the end, and not of the job.
                    if not started or still_may(await self._entry.look(), self._entry.member):
                        raise
        if not started or isinstance(self._response, WholeFile):
            raise CredentialEnded
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await send({"type": "http.response.body", "body": revocation_event(started[0]), "more_body": False})


def revocation_event(start: Message) -> bytes:
    """The last words of a stream: an event that every kind of client here knows for an error, OpenAI's too."""
    kinds = [value for name, value in start["headers"] if name.lower() == b"content-type"]
    if not any(kind.startswith(EVENTS.encode()) for kind in kinds):
        return b""
    error = CredentialEnded()
    told = {"code": error.code, "title": error.title, "detail": error.detail, "fix": error.hint}
    openai = {"message": f"{error.title} {error.hint}", "type": "authentication_error", "code": error.code}
    body = {"type": "error", "content": error.title, "data": told, "error": openai}
    return encode_event(None, "error", body).encode()


def is_streaming(response: Response) -> bool:
    """True for a response that stays open while events happen: server-sent events and long-lived protocols."""
    tells_events = isinstance(response, StreamingResponse) and response.media_type == EVENTS
    return tells_events or isinstance(response, LongLived)
