"""A span for every request, in the trace that its `traceparent` header names."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cluster.basics.telemetry import REQUEST, Telemetry


class TracingMiddleware:
    """ASGI middleware. The span ends with the response, that of a stream with its last byte."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self._app, self._telemetry = app, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with self._telemetry.request(scope["method"], Headers(scope=scope).get("traceparent")) as mark:
            token = REQUEST.set(mark.traceparent)

            async def sent(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status: int = message["status"]
                    mark.label("http.response.status_code", status)
                    if status >= 500:
                        mark.failed(str(status))
                await send(message)

            try:
                await self._app(scope, receive, sent)
            finally:
                REQUEST.reset(token)
                # The template, not the address: few different ones, and no ids.
                if route := getattr(scope.get("route"), "path", None):
                    mark.label("http.route", route)
                    mark.span.update_name(f"{scope['method']} {route}")
