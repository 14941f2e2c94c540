"""Body size limit of requests, counted while the bytes arrive."""

from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyTooLarge(HTTPException):
    """The body is larger than this path takes."""

    def __init__(self, limit: int) -> None:
        """`limit` in bytes."""
        super().__init__(413, "The body is larger than this path takes.")
        self.explained = f"It may have {limit} bytes ({limit / 2**20:.1f} MiB)."
        self.fix = "Send less at once; an administrator can raise AOS_HTTP_MAX_UPLOAD_BYTES, AOS_HTTP_MAX_BODY_BYTES."


class BodyLimit:
    """Ends a request whose body is announced or turns out to be larger than its path allows (413)."""

    def __init__(self, app: ASGIApp, limit_of: Callable[[str], int]) -> None:
        """`limit_of` tells the most bytes for a path."""
        self._app, self._limit_of = app, limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, counting."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope["path"])
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            # Compared as text first: a number of thousands of digits is not worth parsing.
            if announced.isdigit() and (len(announced) > 18 or int(announced) > limit):
                raise BodyTooLarge(limit)
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise BodyTooLarge(limit)
            return message

        await self._app(scope, counted, send)
