"""What Anthropic's dialect is fed; apart from the unit tests, because its library takes seconds to import."""

from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.basics.errors import Unavailable
from cluster.models.chat.anthropic_chat import _Message
from cluster.models.chat.reply_accumulator import ReplyAccumulator
from tests.unit.test_models_gather import ASK, JSON

TYPES = st.sampled_from(["message_start", "message", "content_block_start", "content_block_delta", "message_delta"])


@settings(max_examples=50)
@given(st.lists(JSON, max_size=4), TYPES)
def test_garbage_is_unavailable_and_nothing_else(events: list[Any], kind: str) -> None:
    gathering = ReplyAccumulator(ASK)
    message = _Message(gathering)
    for event in events:
        with suppress(Unavailable):
            message.feed({**event, "type": kind} if isinstance(event, dict) else event)
    with suppress(Unavailable):
        assert isinstance(gathering.reply().content, str)
