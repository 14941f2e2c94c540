"""One streaming client for every endpoint of OpenAI's shape, Azure and Cohere among them."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import httpx2
import openai

from cluster.basics.errors import AosError, Unavailable
from cluster.models.chat.openai_requests import as_taken, chat_url_parts, openai_body
from cluster.models.chat.reply_accumulator import ReplyAccumulator
from cluster.models.chat.retrying import of_status
from cluster.models.chat.vendor_sdk import StreamingCall, own_headers
from cluster.models.connections.endpoint_connection import ModelConnection, auth_headers, mask_key
from cluster.models.messages import ChatRequest, ModelReply, ReplyDelta


class OpenAiChat:
    """Asks once. Closing the iterator closes the HTTP response, which ends the work at the provider."""

    def __init__(self, connection: ModelConnection, call: StreamingCall) -> None:
        """`call` goes out through an `OpenAiCaller`; one serves all requests, as it keeps nothing of them."""
        self._connection, self._call = connection, call

    async def stream(self, request: ChatRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """As ChatModel."""
        connection = self._connection
        asked = as_taken(request, tools=connection.supports_tools, forms=connection.trait.forms)
        body = openai_body(asked, connection.model) | {"stream": True}
        if connection.trait.counts_streams:
            body["stream_options"] = {"include_usage": True}
        gathering = ReplyAccumulator(asked)
        async with aclosing(self._call.events(body, request.sampling.wishes())) as events:
            async for event in events:
                if (delta := gathering.feed(event)) is not None:
                    yield delta
        yield gathering.reply()


class OpenAiCaller:
    """OpenAI's library, aimed at one endpoint: the `sdk.Caller` of this dialect."""

    errors = (openai.OpenAIError,)

    def __init__(self, connection: ModelConnection, endpoint: str, key: str | None, client: httpx2.AsyncClient) -> None:
        """`endpoint` is the base URL that calls go below."""
        base, self._path, self._query = chat_url_parts(connection, endpoint)
        # The key travels in our own headers: this one would be sent as a bearer token whatever the mode.
        self._sdk = openai.AsyncOpenAI(api_key="-", base_url=base, http_client=client, max_retries=0)
        self._headers = own_headers(auth_headers(connection, key), self._sdk.default_headers, openai.Omit())
        self._key = key

    async def post(self, body: Mapping[str, Any], timeout: httpx2.Timeout) -> openai.AsyncStream[object]:
        """See `sdk.Caller`."""
        # Decoded JSON instead of the library's types: those trust the server to be OpenAI's own.
        how: Any = {"headers": self._headers, "params": self._query, "timeout": timeout, "follow_redirects": False}
        kind = openai.AsyncStream[object]
        return await self._sdk.post(self._path, cast_to=object, body=body, options=how, stream=True, stream_cls=kind)

    def classified(self, error: Exception) -> AosError:
        """See `sdk.Caller`."""
        return classify_openai_error(error, self._key)


def classify_openai_error(error: Exception, key: str | None) -> AosError:
    """An error of OpenAI's library as one of ours."""
    if isinstance(error, openai.APIStatusError):
        return of_status(error.status_code, mask_key(_error_message(error), key), error.response.headers)
    if isinstance(error, openai.APIConnectionError):
        return Unavailable(f"the model cannot be reached: {error.__cause__ or error}")
    return Unavailable(f"the model's server failed: {mask_key(str(error), key)[:300]}")


def _error_message(error: openai.APIStatusError) -> str:
    if isinstance(error.body, dict):
        message = error.body.get("message")
        return message if isinstance(message, str) else json.dumps(error.body)
    return str(error.body or "")
