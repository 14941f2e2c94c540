"""Claims without deeds are noticed; a tool is called in the model's stead only where nothing is a guess."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cluster.models.messages import ToolSpec
from serve_apps.agents.turn.dispatch import dispatch_tool
from serve_apps.agents.turn.recovery import FUTURE, PAST, REPROMPT, find_claim, needs_reprompt
from skills.framework.contract import CallEffect, ToolInvocation


@dataclass(frozen=True)
class Skill:
    """A tool that is never run."""

    name: str
    description: str = ""
    properties: Mapping[str, Any] | None = None
    required: tuple[str, ...] = ()
    effect: CallEffect = CallEffect.READ

    @property
    def spec(self) -> ToolSpec:
        schema = {"type": "object", "properties": dict(self.properties or {}), "required": list(self.required)}
        return ToolSpec(self.name, self.description, schema)

    async def run(self, call: ToolInvocation) -> Any:
        raise AssertionError(call)


TEXT = {"type": "string"}
SEARCH = Skill(
    "search_documents", "Finds passages in the documents.", {"query": TEXT, "top_k": {"type": "integer"}}, ("query",)
)
WEATHER = Skill("get_weather", "The weather of a city.", {"city": TEXT}, ("city",))
CLOCK = Skill("current_time", "Date and time.")
DELETE = Skill("delete_document", "Deletes a document.", {"query": TEXT}, ("query",), CallEffect.WRITE)
TOOLS = (SEARCH, WEATHER, CLOCK, DELETE)


def test_the_tables_are_long_enough_and_every_pattern_can_match() -> None:
    """TC-03."""
    assert len(FUTURE) >= 20
    assert len(PAST) >= 50
    assert len(set(FUTURE.values()) | set(PAST.values())) == len(FUTURE) + len(PAST)


def test_me_06_to_remember_is_no_announcement_and_to_do_something_later_is() -> None:
    """ME-06, TC-03: what it says that it will remember is remembered with the answer."""
    for said in ("I will remember that.", "Sure, I'll keep that in mind.", "I'll gladly remember your badge number."):
        assert find_claim(said) is None, said
    assert find_claim("I will remember to send the mail.") is not None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The report has been created.", "past"),
        ("Done! Your server was restarted.", "past"),
        ("I've successfully configured the alert for you.", "past"),
        ("Your booking is confirmed. Safe travels!", "past"),
        ("I have just sent the e-mail to Ana.", "past"),
        ("The two bags have been successfully added to your reservation.", "past"),
        ("I would use the search tool for that.", "future"),
        ("Here's how: open the settings.", "future"),
        ("You should run the migration first.", "future"),
        ("I'll check the documents now.", "future"),
        ("Let me look that up.", "future"),
    ],
)
def test_claims_are_named(text: str, kind: str) -> None:
    """TC-03."""
    claim = find_claim(text)
    assert claim is not None
    assert claim.kind == kind
    assert claim.pattern in (PAST if kind == "past" else FUTURE)
    assert claim.quote in text


@pytest.mark.parametrize(
    "text",
    [
        "The report has not been created.",
        "I couldn't send it: it cannot be sent before the file has been saved.",
        "Has the report been created?",
        "Paris is the capital of France.",
        "Once it has been deployed, nothing changes.",
        "Unfortunately nothing has been booked.",
        "",
    ],
)
def test_negations_conditions_and_facts_are_no_claims(text: str) -> None:
    """TC-03."""
    claim = find_claim(text)
    assert claim is None or claim.kind == "future"


def test_who_asks_how_is_told_how() -> None:
    """TC-03: advice is laziness only towards who asked for a deed; a false report never passes."""
    advice = "You should open the settings."
    assert needs_reprompt("How do I change my password?", advice) is None
    assert needs_reprompt("Change my password.", advice) is not None
    assert needs_reprompt("How do I change it?", "Your password has been changed.") is not None


def test_the_reprompt_is_the_documented_one() -> None:
    """TC-04."""
    assert REPROMPT == "STOP. You did NOT execute anything. DO IT NOW."


def test_a_reading_tool_is_called_in_the_models_stead() -> None:
    """TC-05: keyword score, inferred parameters, the best tool."""
    message = "search the documents for the travel policy"
    found = dispatch_tool(message, TOOLS, 0.6)
    assert found is not None
    assert (found.tool, found.arguments) == ("search_documents", {"query": message})
    assert found.score >= 0.6
    now = dispatch_tool("What is the current time?", TOOLS, 0.6)
    assert now is not None
    assert (now.tool, now.arguments) == ("current_time", {})


@pytest.mark.parametrize(
    "message",
    [
        "delete the document about travel",  # it would write
        "what is the weather in Paris",  # "Paris" is a guess
        "don't search the documents",
        "tell me a joke",
        "",
    ],
)
def test_nothing_is_dispatched_on_a_guess(message: str) -> None:
    """TC-05: never a tool that changes something, never an uncertain parameter, never against a negation."""
    assert dispatch_tool(message, TOOLS, 0.6) is None


def test_ties_are_refused_and_quoted_text_is_certain() -> None:
    """TC-05."""
    twin = Skill("documents_search", SEARCH.description, SEARCH.properties, SEARCH.required)
    assert dispatch_tool("search the documents for x", (SEARCH, twin), 0.6) is None
    quoted = dispatch_tool('what is the weather in "Paris"', TOOLS, 0.6)
    assert quoted is not None
    assert quoted.arguments == {"city": "Paris"}
    assert dispatch_tool('weather in "Paris" or "Rome"', TOOLS, 0.6) is None
