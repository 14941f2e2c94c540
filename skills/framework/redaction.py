"""Takes what was opened for a call out of everything that the call says: results, errors, log lines, prints."""

import base64
import html
import json
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast
from urllib.parse import quote, quote_plus, unquote

from skills.framework.dependencies import Secret

MARK = "[secret]"
LEAST = 4  # characters of a value that is looked for; shorter ones stand in every other word
LEAST_LINE = 16  # of one line of a value, as of a private key that is quoted indented
LEAST_PIECE = 8  # of base64 that stands inside other base64, as a password in `user:password`

_LOGIN = re.compile(r"://[^/?#@\s]*:([^/?#\s]+)@")
_WORD = re.compile(r"password\s*=\s*('(?:[^'\\]|\\.)*'|[^\s';&]+)", re.IGNORECASE)


class SecretRedactor:
    """The secrets that were opened while it watched, in every form in which they are looked for.

    It does not protect against code that means to smuggle a value out: cut, reversed, encrypted, letter by letter.
    """

    def __init__(self, above: "SecretRedactor | None" = None) -> None:
        """`above` learns of everything that is learnt here."""
        self._above = above
        self._needles: list[str] = []

    def __bool__(self) -> bool:
        """True where any secret was opened."""
        return bool(self._needles)

    def __repr__(self) -> str:
        return f"Watch({len(self._needles)} forms)"

    def add(self, secret: Secret) -> None:
        """Look for its values from now on, but for those that may be shown."""
        fresh = {form for field, value in secret.items() if field not in secret.shown for form in _secret_forms(value)}
        # The longest first: what is a part of another must not be cut out of it.
        self._needles = sorted({*self._needles, *fresh}, key=lambda form: (-len(form), form))
        if self._above is not None:
            self._above.add(secret)

    def text(self, text: str) -> str:
        """The text, with a mark in the place of each secret."""
        for needle in self._needles:
            if needle in text:
                text = text.replace(needle, MARK)
        return text

    def json(self, value: Any) -> Any:
        """The same of every text in JSON, keys included; a number that is a secret becomes a text."""
        if not self._needles:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.json(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(inner) for inner in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            shown = self.text(str(value))
            return value if shown == str(value) else shown
        return value


# Who watches the call that is carried out here; tasks and threads of asyncio that are begun inside inherit it.
_WATCH: ContextVar[SecretRedactor | None] = ContextVar("aos_watch", default=None)


@contextmanager
def watch_secrets() -> Iterator[SecretRedactor]:
    """Around a call: everything that `VaultOpener` opens inside is known to what is given here."""
    watch = SecretRedactor(_WATCH.get())
    token = _WATCH.set(watch)
    try:
        yield watch
    finally:
        _WATCH.reset(token)


def register_opened(secret: Secret) -> None:
    """Tell whoever watches that a secret is out of the vault."""
    watch = _WATCH.get()
    if watch is not None:
        watch.add(secret)


def redact_secrets(text: str, secrets: Iterable[Secret]) -> str:
    """The text without these secrets: plain, URL-encoded, in base64, in hex, escaped for JSON, HTML or Python."""
    watch = SecretRedactor()
    for secret in secrets:
        watch.add(secret)
    return watch.text(text)


def guard_output() -> None:
    """From now on no log line and no print of this process shows what is open where it is written.

    Libraries log the address they call with the key in it, or print. To do it again changes nothing. Threads that a
    library starts by itself know of no call, and child processes write where they like.
    """
    factory = logging.getLogRecordFactory()
    if not isinstance(factory, _Records):
        logging.setLogRecordFactory(_Records(factory))
    if not isinstance(sys.stdout, _Stream):
        sys.stdout = cast(TextIO, _Stream(sys.stdout))
    if not isinstance(sys.stderr, _Stream):
        sys.stderr = cast(TextIO, _Stream(sys.stderr))


class _Records:
    """Makes log records; also the text of an exception is cleaned before a handler sees it."""

    def __init__(self, factory: Callable[..., logging.LogRecord]) -> None:
        self._factory = factory

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._factory(*args, **kwargs)
        watch = _WATCH.get()
        if not watch:
            return record
        try:
            record.msg = watch.text(record.getMessage())
        except (LookupError, TypeError, ValueError):
            # What logging would print of it are the arguments themselves.
            record.msg = "a line that cannot be formatted"
        record.args = None
        if record.exc_info:
            record.exc_text = watch.text(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return record


class _Stream:
    """A stream that cleans what is written to it; in everything else it is the one below."""

    def __init__(self, below: TextIO) -> None:
        self._below = below

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)

    def write(self, text: str) -> int:
        watch = _WATCH.get()
        self._below.write(watch.text(text) if watch else text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


def _secret_forms(value: str) -> set[str]:
    found: set[str] = set()
    for part in _secret_parts(value):
        data = part.encode("utf-8", "surrogatepass")
        encoded = {quote(data, safe=""), quote(data), quote_plus(data)}
        found |= {part, json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1], repr(part)[1:-1]}
        found |= {html.escape(part), html.escape(part, quote=False), data.hex(), data.hex().upper()}
        found |= encoded | {re.sub("%[0-9A-F]{2}", lambda hit: hit[0].lower(), form) for form in encoded}
        found |= _base64(data)
    return {form for form in found if len(form) >= LEAST}


def _secret_parts(value: str) -> set[str]:
    """The value, its lines where it has several, and the password of an address that is one."""
    found = {value, value.strip()}
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        # The frame of a PEM file tells nothing.
        found |= {line for line in lines if len(line) >= LEAST_LINE and not line.startswith("-----")}
    for hit in (*_LOGIN.finditer(value), *_WORD.finditer(value)):
        found |= {hit[1], hit[1].strip("'"), unquote(hit[1])}
    return {part for part in found if len(part) >= LEAST}


def _base64(data: bytes) -> set[str]:
    """Alone, and the characters that are certain wherever in other bytes it begins."""
    found = set()
    for before, first in ((0, 0), (1, 2), (2, 3)):
        shifted = bytes(before) + data
        for text in (base64.b64encode(shifted).decode(), base64.urlsafe_b64encode(shifted).decode()):
            certain = text[first : 8 * len(shifted) // 6]
            found |= {certain} if len(certain) >= LEAST_PIECE else set()
            found |= {text.rstrip("=")} if before == 0 else set()
    return found
