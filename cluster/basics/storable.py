"""Text that Postgres can store: neither NUL nor lone surrogates."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """True where a column of type text or jsonb takes it as it is."""
    return ("\0" not in text) if text.isascii() else _UNSTORABLE.search(text) is None


def replace_unstorable(text: str) -> str:
    """The text with U+FFFD in place of each character that cannot be stored."""
    return text if is_storable(text) else _UNSTORABLE.sub("\ufffd", text)
