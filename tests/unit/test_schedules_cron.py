"""When something is due, also on the two days of the year on which a clock lies."""

from datetime import UTC, datetime

import pytest

from cluster.state.work.cron import BadCron, BadTimezone, next_after


def due(cron: str, zone: str, *moment: int, times: int = 1) -> list[str]:
    at, found = datetime(*moment, tzinfo=UTC), []  # type: ignore[arg-type,misc]
    for _ in range(times):
        at = next_after(cron, zone, at)
        found.append(f"{at:%m-%d %H:%M}")
    return found


def test_sh_02_cron_is_read_on_the_wall_clock_of_its_zone() -> None:
    """SH-02: two in the morning in Berlin is another moment in summer than in winter."""
    assert due("0 2 * * *", "Europe/Berlin", 2026, 1, 10) == ["01-10 01:00"]
    assert due("0 2 * * *", "Europe/Berlin", 2026, 7, 10) == ["07-11 00:00"]
    assert due("*/15 8-9 * * mon-fri", "UTC", 2026, 11, 20, 9, 45) == ["11-23 08:00"]


def test_sh_02_a_missing_hour_is_due_once_and_a_repeated_one_too() -> None:
    """SH-02: clocks jump from 2 to 3 on 29 March 2026 and back from 3 to 2 on 25 October."""
    assert due("30 2 * * *", "Europe/Berlin", 2026, 3, 28, 2, times=2) == ["03-29 01:00", "03-30 00:30"]
    assert due("30 2 * * *", "Europe/Berlin", 2026, 10, 24, 2, times=2) == ["10-25 00:30", "10-26 01:30"]


@pytest.mark.parametrize("cron", ["", "* * * *", "0 0 2 * * *", "61 * * * *", "0 0 30 2 *", "a b c d e", "0 0 * * 8"])
def test_what_is_never_due_is_refused(cron: str) -> None:
    with pytest.raises(BadCron):
        next_after(cron, "UTC", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "", "Europe", "/etc/localtime"])
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(BadTimezone):
        next_after("0 0 * * *", zone, datetime(2026, 1, 1, tzinfo=UTC))
