"""System → Webhooks: what is shown is escaped, what is offered fits the state, and acts send what the API takes."""

from typing import Any

from serve_apps.ui.system import webhooks_page

HOSTILE = '"><script>alert(1)</script>'
HOOK: dict[str, Any] = {
    "id": "w1",
    "name": HOSTILE,
    "url": f"https://x.example/{HOSTILE}",
    "topics": ["job.*", "document.ready"],
    "owner": "a@example.org",
    "role": None,
    "enabled": True,
    "disabled_why": None,
    "failures": 0,
    "error": None,
    "succeeded_at": "2026-11-01T10:00:00Z",
    "next_at": None,
    "secrets": 2,
    "pending": 3,
    "dead": 1,
}
SENT: dict[str, Any] = {
    "event_id": "evt_1",
    "topic": "job.failed",
    "subject": "job:1",
    "created_at": "2026-11-01T10:00:00Z",
    "state": "dead",
    "attempts": 12,
    "status": 500,
    "error": HOSTILE,
}


def test_webhooks_are_listed_with_how_they_stand_and_escaped() -> None:
    shown = webhooks_page.webhook_list({"items": [HOOK], "total": 1}, 0)
    assert "<script>" not in shown and "Add a webhook" in shown and "a@example.org" in shown
    failing = webhooks_page.webhook_list({"items": [HOOK | {"failures": 5}], "total": 120}, 0)
    assert "failing" in failing and "skip=50" in failing
    assert "off" in webhooks_page.webhook_list({"items": [HOOK | {"enabled": False}], "total": 1}, 0)
    assert "Nobody is told" in webhooks_page.webhook_list({"items": [], "total": 0}, 0)


def test_one_webhook_shows_its_deliveries_and_offers_to_replay_what_has_ended() -> None:
    items = [SENT, SENT | {"state": "pending", "event_id": "evt_2"}]
    shown = webhooks_page.webhook_view(HOOK, {"items": items, "total": 2}, {"id": "w1"})
    assert "<script>" not in shown and shown.count('data-act="webhooks.again"') == 1
    for act in ("ping", "switch", "secret", "delete", "replay", "resend"):
        assert f'data-act="webhooks.{act}"' in shown
    assert "Switch off" in shown and "2 valid" in shown
    assert "Send 1 again" in shown
    off = HOOK | {"enabled": False, "dead": 0, "disabled_why": "the receiver answers 410"}
    nothing = webhooks_page.webhook_view(off, {"items": [], "total": 0}, {"id": "w1", "state": "dead"})
    assert "webhooks.resend" not in nothing
    assert "Switch on" in nothing and "410" in nothing and "There are none." in nothing
