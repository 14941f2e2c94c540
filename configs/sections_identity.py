"""Settings of tokens, of the first administrator, and of who may sign in by a provider."""

from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from configs.section import Secret, Section

LEAST_KEY_BYTES = 32  # of HS256's key: RFC 7518, section 3.2


class AuthSettings(Section):
    """Tokens and the first administrator. Without `secret_key` one is made and kept in the state directory.

    `providers_file`: a YAML file of OpenID providers and directories by which people may sign in
    (configs/sign_in_providers.py, configs/sign_in_directories.py); `public_url`: where browsers reach this product, as
    providers are to send them back there.
    """

    secret_key: Secret = None
    access_minutes: int = Field(60, ge=1)
    refresh_days: int = Field(14, ge=1)
    admin_email: str = "admin@orchestrator.local"
    admin_password: Secret = None
    providers_file: Path | None = None
    public_url: str | None = None

    @field_validator("public_url")
    @classmethod
    def _refuse_path(cls, value: str | None) -> str | None:
        parts = urlsplit(value or "https://a")
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
            raise ValueError("is not an address such as https://aos.example")
        return value.rstrip("/") if value else value

    @field_validator("secret_key")
    @classmethod
    def _refuse_short(cls, value: str | None) -> str | None:
        if value is not None and len(value.encode()) < LEAST_KEY_BYTES:
            raise ValueError(
                f"has less than {LEAST_KEY_BYTES} bytes; make one with `openssl rand -base64 48`, or leave it out"
            )
        return value
