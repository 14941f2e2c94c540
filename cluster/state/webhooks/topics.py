"""Topics of events that go out, and which of them a webhook may ask for."""

from collections.abc import Sequence
from typing import Final

from cluster.basics.errors import Invalid

TOPICS: Final = (
    *("job.queued", "job.finished", "job.failed"),
    *("document.ready", "document.failed", "document.version", "document.deleted"),
    *("approval.asked", "approval.decided"),
    "feedback.given",
    *("policy.changed", "policy.applied"),
)
PING: Final = "webhook.ping"
EVERYTHING: Final = "*"
FAMILIES: Final = tuple(dict.fromkeys(f"{topic.partition('.')[0]}.*" for topic in TOPICS))


def check_topics(wanted: Sequence[str]) -> list[str]:
    """The topics, each once. Raises Invalid: there is no such topic, or none is named."""
    known = {EVERYTHING, *FAMILIES, *TOPICS}
    if wrong := [one for one in wanted if one not in known]:
        raise Invalid(f"there is no topic {wrong[0][:80]!r}", fix=f"Topics are *, {', '.join((*FAMILIES, *TOPICS))}.")
    if not wanted:
        raise Invalid("a webhook wants at least one topic", fix="Name * for all of them.")
    return list(dict.fromkeys(wanted))
