"""What every section of the settings is: frozen, unknown keys refused, secrets marked."""

from enum import Enum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict


class Mark(Enum):
    """What is said of a key beside its type."""

    SECRET = "secret"


# Also URLs that may hold a password. Such values stay in the environment of whoever has them: nothing passes them on.
Secret = Annotated[str | None, Mark.SECRET]
Gpu = Literal["auto"] | bool


class Section(BaseModel):
    """A part of the settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def is_secret(cls, key: str) -> bool:
        """Whether the key's value must not be shown or passed on."""
        return Mark.SECRET in cls.model_fields[key].metadata
