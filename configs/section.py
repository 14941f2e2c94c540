"""The base of every section of the settings: frozen, unknown keys refused, secrets marked, none published."""

from enum import Enum
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

KNOWN_DEFAULT_SECRETS = frozenset(
    {"AOS@Admin2026!", "changeme", "change-me", "secret", "password", "admin", "postgres", "your-secret-key"}
)


class KeyMark(Enum):
    """A mark on a key beside its type."""

    SECRET = "secret"


# Also URLs that may hold a password. Such values stay in the environment of whoever has them: nothing passes them on.
Secret = Annotated[str | None, KeyMark.SECRET]
Gpu = Literal["auto"] | bool


class Section(BaseModel):
    """A part of the settings: frozen; an unknown key is an error, and so is a secret that everybody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def is_secret(cls, key: str) -> bool:
        """True where the key's value must not be shown or passed on."""
        return KeyMark.SECRET in cls.model_fields[key].metadata

    @field_validator("*")
    @classmethod
    def _refuse_published(cls, value: Any, info: ValidationInfo) -> Any:
        if info.field_name is None or not cls.is_secret(info.field_name) or not isinstance(value, str):
            return value
        if value in KNOWN_DEFAULT_SECRETS:
            raise ValueError("is a published default; choose another, or leave it out where it is not needed")
        if not _url_passwords(value).isdisjoint(KNOWN_DEFAULT_SECRETS):
            raise ValueError("has a published default as its password; choose another, on the server too")
        return value


def _url_passwords(url: str) -> set[str]:
    """The passwords in a URL, before its host or, as libpq takes it too, among its parameters."""
    try:
        parts = urlsplit(url)
    except ValueError:  # no URL; who connects with it says so better
        return set()
    if not parts.scheme:
        return set()
    return {unquote(parts.password or ""), *parse_qs(parts.query).get("password", ())}
