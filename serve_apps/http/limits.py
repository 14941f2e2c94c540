"""How large a request body may be, counted while it arrives."""

from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
                raise HTTPException(413, f"the body is announced larger than {limit} bytes")
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise HTTPException(413, f"the body is larger than {limit} bytes")
            return message

        await self._app(scope, counted, send)
