"""From a connection to a model that can be asked: the right dialect, patience, and the one HTTP client."""

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never

import httpx2

from cluster.basics.retry import MODEL_WAITS
from cluster.models.chat.retrying import RetryingChatModel
from cluster.models.chat.vendor_sdk import ChatTimeouts, EndpointQuirks, StreamingCall
from cluster.models.connections.endpoint_connection import ModelConnection, candidate_urls
from cluster.models.ports import ChatModel


def open_model(
    connection: ModelConnection,  # its `endpoint` is used as it is, without one the likeliest candidate
    key: str | None,  # the secret, unsealed
    client: httpx2.AsyncClient,  # shared by all models of the process
    sleep: Callable[[float], Awaitable[None]],  # waits between attempts
    *,
    habits: EndpointQuirks | None = None,  # what earlier calls learned of the endpoint; None learns anew
    limits: ChatTimeouts = ChatTimeouts(),  # seconds to connect, and for a whole answer
    waits: Sequence[float] = MODEL_WAITS,  # seconds between attempts, before jitter; () asks once
    chance: Callable[[], float] = random.random,  # numbers from 0 to 1 for the jitter
) -> ChatModel:
    """A model behind a connection. Nothing is sent yet, and it costs next to nothing: open one for each call.

    Raises Invalid: the connection's URL is none.
    """
    endpoint = connection.endpoint or candidate_urls(connection.base_url, connection.provider)[0]
    known = habits or EndpointQuirks()
    # A dialect's library takes most of a second and 30 MB, and few processes need one.
    match connection.trait.wire:
        case "openai":
            from cluster.models.chat.client import OpenAiCaller, OpenAiChat

            call = StreamingCall(OpenAiCaller(connection, endpoint, key, client), connection, known, limits)
            model: ChatModel = OpenAiChat(connection, call)
        case "anthropic":
            from cluster.models.chat.anthropic_chat import AnthropicCaller, AnthropicChat

            call = StreamingCall(AnthropicCaller(connection, endpoint, key, client), connection, known, limits)
            model = AnthropicChat(connection, call)
        case _:
            assert_never(connection.trait.wire)
    return RetryingChatModel(model, sleep, chance, waits)
