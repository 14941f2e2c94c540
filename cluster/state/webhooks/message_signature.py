"""Signatures of webhook messages by Standard Webhooks (standardwebhooks.com): HMAC-SHA256 over id, time and body."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

START: Final = "whsec_"
_BYTES: Final = 32


def new_secret() -> str:
    """A secret as receivers configure it: `whsec_` and 32 random bytes in base64."""
    return START + base64.b64encode(secrets.token_bytes(_BYTES)).decode("ascii")


def signed_headers(keys: Sequence[str], message: str, at: int, body: bytes) -> Mapping[str, str]:
    """The three headers of a message.

    Args:
        keys: every secret that is valid now; a receiver that knows one of them accepts it.
        message: its id, the same however often it is sent.
        at: seconds since 1970 of this attempt.
    """
    signed = f"{message}.{at}.".encode() + body
    signatures = [base64.b64encode(hmac.digest(_key_bytes(key), signed, hashlib.sha256)).decode() for key in keys]
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{one}" for one in signatures),
    }


def _key_bytes(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(START))
