"""The page Now: what is not well leads to where it is mended."""

from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.now import PAGE, health_view
from serve_apps.ui.system.page import PAGE as SYSTEM

HEALTH = {
    "colour": "amber",
    "parts": [
        {"part": "models", "kind": "model", "colour": "grey", "detail": "", "fix": "Add one.", "ms": 0},
        {"part": "postgres", "kind": "state", "colour": "green", "detail": "", "fix": "", "ms": 3},
        {"part": "backup", "kind": "state", "colour": "amber", "detail": "/b: it is old", "fix": "Run it.", "ms": 1},
    ],
}


def test_a_backup_that_is_not_good_stands_first_with_what_to_do() -> None:
    drawn = health_view(ConsoleContext(None, None, (PAGE,)), HEALTH)  # type: ignore[arg-type]
    assert drawn.index("/b: it is old") < drawn.index("Run it.") < drawn.index("postgres")
    assert "Works, with something to know" in drawn


def test_the_health_of_models_leads_to_their_connections() -> None:
    desk = ConsoleContext(None, None, (PAGE, SYSTEM))  # type: ignore[arg-type]  # only links are asked of it
    drawn = health_view(desk, HEALTH)
    assert drawn.count('href="/console/system?part=models"') == 1 and "LLM connections" in drawn
    assert "href" not in health_view(ConsoleContext(None, None, (PAGE,)), HEALTH)  # type: ignore[arg-type]
