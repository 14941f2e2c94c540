"""Webhook messages: signed as the reference library checks it, sent where it is allowed, retried later each time."""

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from cluster.basics.errors import Invalid
from cluster.state.webhooks.deliveries import WAITS, OutgoingEvent, retry_wait
from cluster.state.webhooks.message_signature import new_secret, signed_headers
from cluster.state.webhooks.topics import FAMILIES, TOPICS, check_topics
from configs.sections_events import WebhookSettings
from serve_apps.events.webhook_client import ReceiverNotAllowed, WebhookClient, message_body

NOW = datetime.now(UTC)
EVENT = OutgoingEvent(1, "b" * 36, "job.failed", {"job_id": "j", "state": "failed"}, NOW, 0)


@given(st.binary(max_size=300), st.integers(0, 200))
def test_the_reference_library_accepts_what_is_signed_and_nothing_that_was_changed(body: bytes, at: int) -> None:
    text = json.dumps({"b": body.hex()}).encode()
    keys = [new_secret(), new_secret()]
    now = int(time.time())  # the library takes none older than five minutes
    headers = dict(signed_headers(keys, "evt_1", now - at, text))
    for key in keys:
        assert Webhook(key).verify(text, headers) == {"b": body.hex()}
    for wrong in ((new_secret(), text), (keys[0], text + b" ")):
        with pytest.raises(WebhookVerificationError):
            Webhook(wrong[0]).verify(wrong[1], headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(keys[0]).verify(text, headers | {"webhook-id": "evt_2"})


def test_a_message_says_what_happened_and_when() -> None:
    said = json.loads(message_body(EVENT))
    assert (said["type"], said["data"]) == ("job.failed", EVENT.payload)
    assert datetime.fromisoformat(said["timestamp"]) == NOW and said["timestamp"].endswith("Z")
    assert message_body(EVENT) == message_body(EVENT)  # replayed, it is the same


def test_waits_grow_and_a_receiver_may_ask_for_more_up_to_the_longest() -> None:
    waits = [retry_wait(attempts, 0) for attempts in range(1, 12)]
    assert waits[: len(WAITS)] == list(WAITS) and set(waits[len(WAITS) :]) == {WAITS[-1]}
    assert retry_wait(1, 90) == 90 and retry_wait(1, 1e9) == WAITS[-1]


def test_topics_are_named_as_they_are() -> None:
    assert check_topics(["job.*", "job.*", "document.ready"]) == ["job.*", "document.ready"]
    assert check_topics(["*", *FAMILIES, *TOPICS])[0] == "*"
    for wrong in (["jobs"], ["job."], []):
        with pytest.raises(Invalid):
            check_topics(wrong)


async def _nowhere(host: str, port: int) -> Sequence[str]:
    return {"inner.example": ["10.0.0.7"], "both.example": ["93.184.216.34", "127.0.0.1"]}.get(host, ["93.184.216.34"])


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/x",
        "https://hooks.example:8443/x",
        "https://10.0.0.1/x",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://169.254.169.254/latest",
        "https://inner.example/x",
        "https://both.example/x",
        "https://2130706433/x",
    ],
)
async def test_private_addresses_and_plain_http_are_no_receivers_whenever_the_name_leads_there(url: str) -> None:
    client = WebhookClient(WebhookSettings(), _numeric)
    with pytest.raises(ReceiverNotAllowed):
        await client.check_reachable(url)
    sent = await client.send(url, [new_secret()], EVENT, NOW)
    assert not sent.accepted and "not_allowed" in sent.error


async def _numeric(host: str, port: int) -> Sequence[str]:
    known = {"2130706433": ["127.0.0.1"]}
    return known.get(host) or ([host] if host[0].isdigit() or ":" in host else await _nowhere(host, port))


@pytest.mark.parametrize("url", ["ftp://hooks.example/x", "https://u:p@hooks.example/x", "nothing", "https://a b/"])
async def test_what_is_no_address_of_a_receiver_is_refused(url: str) -> None:
    with pytest.raises(Invalid):
        await WebhookClient(WebhookSettings(), _nowhere).check_reachable(url)


async def test_named_hosts_may_be_inner_ones_and_nothing_else_may_then() -> None:
    named = WebhookClient(WebhookSettings(hosts=("inner.example:8080", "*.corp.example")), _nowhere)
    assert await named.check_reachable("http://inner.example:8080/x") == "inner.example"
    assert await named.check_reachable("https://a.corp.example/x") == "a.corp.example"
    for url in ("https://hooks.example/x", "https://inner.example/x", "http://a.corp.example/x"):
        with pytest.raises(ReceiverNotAllowed):
            await named.check_reachable(url)
    assert await WebhookClient(WebhookSettings(), _nowhere).check_reachable("https://hooks.example/x")
    assert timedelta(days=WebhookSettings().dead_days) == timedelta(days=3)
