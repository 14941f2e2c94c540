"""Security headers of every answer that is no page of ours: a browser may do nothing with it (OWASP)."""

from collections.abc import Mapping
from typing import Final

# A document that somebody uploaded runs no script, whatever it is, and stands in nobody's frame.
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
