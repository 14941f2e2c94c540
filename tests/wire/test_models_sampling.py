"""Sampling wishes on their way: into each provider's body, into the journal and back."""

from dataclasses import replace

import pytest

from cluster.basics.errors import Invalid
from cluster.models.chat.anthropic_chat import anthropic_body
from cluster.models.chat.openai_requests import openai_body
from cluster.models.messages import ChatRequest, ModelMessage, SamplingParameters
from serve_apps.agents.durable.message_codec import request_to_json
from tests.fakes.model_requests import request_from_json

ASK = ChatRequest((ModelMessage("user", "hi"),))
WISHES = SamplingParameters(top_p=0.5, presence_penalty=0.0, frequency_penalty=-1.0, seed=7, temperature=0.25)


def test_every_wish_reaches_an_openai_shaped_endpoint_and_none_that_was_not_made() -> None:
    body = openai_body(replace(ASK, sampling=WISHES), "m")
    assert {name: body[name] for name in WISHES.given()} == WISHES.given()
    assert openai_body(ASK, "m").keys() & WISHES.given().keys() == {"temperature"}, "the agent's own"


def test_anthropic_takes_top_p_in_place_of_a_temperature_and_refuses_the_others_by_name() -> None:
    body = anthropic_body(replace(ASK, sampling=SamplingParameters(top_p=0.5)), "m")
    assert body["top_p"] == 0.5 and "temperature" not in body
    with pytest.raises(Invalid, match=r"presence_penalty, frequency_penalty, seed"):
        anthropic_body(replace(ASK, sampling=WISHES), "m")


def test_anthropic_refuses_a_temperature_that_it_would_not_keep() -> None:
    """Beside top_p, and above 1; a default beside the other is no second wish."""
    for refused in (SamplingParameters(temperature=0.2, top_p=0.5), SamplingParameters(temperature=1.5)):
        with pytest.raises(Invalid, match="temperature"):
            anthropic_body(replace(ASK, sampling=refused), "m")
    cold = anthropic_body(replace(ASK, sampling=SamplingParameters(temperature=0.2, top_p=1.0)), "m")
    assert cold["temperature"] == 0.2 and "top_p" not in cold
    narrow = anthropic_body(replace(ASK, sampling=SamplingParameters(temperature=1.0, top_p=0.5)), "m")
    assert narrow["top_p"] == 0.5 and "temperature" not in narrow


def test_a_journal_keeps_wishes_and_reads_what_was_recorded_before_there_were_any() -> None:
    wished = replace(ASK, sampling=WISHES)
    assert request_from_json(request_to_json(wished)) == wished
    assert "sampling" not in request_to_json(ASK) and request_from_json(request_to_json(ASK)) == ASK
