"""Due times of cron expressions of five fields in a time zone, daylight saving included."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from cluster.basics.errors import Invalid

FIELDS = 5  # the scheduler looks once a minute; seconds would promise what nobody keeps


class BadCron(Invalid):
    """This is no cron expression."""

    code = "bad_cron"
    fix = "Five fields: minute, hour, day of month, month, day of week, such as 0 2 * * 1-5."


class BadTimezone(Invalid):
    """There is no such time zone."""

    code = "bad_timezone"
    fix = "Name it as IANA does, such as Europe/Berlin; UTC is the default."


def next_after(cron: str, timezone: str, moment: datetime) -> datetime:
    """The first due time after a moment, in UTC.

    Where clocks jump ahead, what was due in the missing hour is due once, right after; where they are set back, what is
    due at a fixed hour is due once (as Debian's cron does). The five fields are of the wall clock of `timezone` (IANA).
    Raises BadCron or BadTimezone where it is not valid, or never due.
    """
    if len(cron.split()) != FIELDS:
        raise BadCron(cron)
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # OSError: the name of a folder
        raise BadTimezone(timezone) from error
    try:
        return next(CronSim(cron.upper(), moment.astimezone(zone))).astimezone(UTC)
    except (CronSimError, StopIteration) as error:
        raise BadCron(cron) from error
