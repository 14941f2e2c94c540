"""`get_time`: what time and day it is, in a named time zone."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cluster.basics.errors import Invalid
from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Manifest


class GetTime:
    """The current time; it is recorded with the call, so a replay sees the same."""

    effect = CallEffect.READ

    def __init__(self, spec: ToolSpec, clock: Callable[[], datetime]) -> None:
        """`clock` gives a moment with its time zone."""
        self.spec, self._clock = spec, clock

    async def run(self, call: ToolInvocation) -> Any:
        """Give {iso, date, time, weekday, timezone, utc_offset}. Raises Invalid: there is no such time zone."""
        name = str(call.arguments.get("timezone") or "UTC")
        try:
            zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # a name with .. or a folder's name
            raise Invalid(f"there is no time zone {name!r}; use an IANA name such as Europe/Berlin") from error
        now = self._clock().astimezone(zone)
        return {
            "iso": now.isoformat(timespec="seconds"),
            "date": now.date().isoformat(),
            "time": now.strftime("%H:%M:%S"),
            "weekday": now.strftime("%A"),
            "timezone": name,
            "utc_offset": now.strftime("%z"),
        }


def build(manifest: Manifest, ground: SkillDependencies) -> GetTime:
    """See `Build`."""
    return GetTime(manifest.spec, lambda: datetime.now(UTC))
