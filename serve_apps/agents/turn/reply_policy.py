"""Policies over a model's replies: asked in order before the loop acts on one, each may change, end or repeat it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster.models.messages import ModelReply
from serve_apps.agents.parsing.parsed_reply import ParsedReply
from serve_apps.agents.turn.stream_filter import StreamFilter
from serve_apps.agents.turn_ports import TurnOutcome

if TYPE_CHECKING:  # the loop knows its policies
    from serve_apps.agents.turn.agent_loop import Conversation


class ReplyPolicy:
    """Does nothing; a policy overrides what it has a say in. One is made for each turn and may remember."""

    def prepare(self, talk: Conversation) -> None:
        """Change the first request: rules, tools, sampling."""

    def before_round(self, talk: Conversation) -> None:
        """Change the coming request."""

    def owes_call(self, talk: Conversation) -> bool:
        """True if the turn must not end without a call: then no round is announced as the last one for answers only."""
        return False

    def withholds(self, talk: Conversation) -> bool:
        """True if nothing of the coming reply may be shown before it was reviewed."""
        return False

    async def review(
        self, talk: Conversation, reply: ModelReply, parsed: ParsedReply, release: StreamFilter
    ) -> ParsedReply | TurnOutcome | None:
        """The reply as the loop is to take it, how the turn ends, or None to ask the model again."""
        return parsed
