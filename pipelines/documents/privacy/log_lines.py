"""Log lines of our own modules without personal data: what fails is told with what it was given, now and then."""

import logging
from collections.abc import Callable
from typing import Any

from pipelines.documents.privacy.personal_data import mask_personal_data

OURS = ("aos", "cluster", "pipelines", "serve_apps", "skills")


def mask_log_lines() -> None:
    """From now on in this process; to do it again changes nothing.

    Lines of libraries stay: access logs name who asked from where, which is what they are kept for.
    """
    factory = logging.getLogRecordFactory()
    if not isinstance(factory, _MaskedRecords):
        logging.setLogRecordFactory(_MaskedRecords(factory))


class _MaskedRecords:
    """Makes log records; the text of an exception is masked before a handler sees it, too."""

    def __init__(self, factory: Callable[..., logging.LogRecord]) -> None:
        self._factory = factory

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._factory(*args, **kwargs)
        if record.name.partition(".")[0] not in OURS:
            return record
        try:
            shown, found = mask_personal_data(record.getMessage())
        except (LookupError, TypeError, ValueError):
            record.msg, record.args = "a line that cannot be formatted", None  # logging would print what it was given
        else:
            if found:
                record.msg, record.args = shown, None
        if record.exc_info:
            record.exc_text = mask_personal_data(logging.Formatter().formatException(record.exc_info))[0]
            record.exc_info = None
        return record
