"""The tokens that `aos login` keeps, per server, in a file only its owner may read."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LoginTokens:
    """The access and refresh token of a login."""

    access: str
    refresh: str


@dataclass(frozen=True, slots=True)
class CredentialsFile:
    """One file of tokens by server URL."""

    path: Path

    @classmethod
    def of(cls, state_dir: Path | None) -> "CredentialsFile":
        """In the state directory if one is named, else in the user's own configuration."""
        folder = Path.home() / ".config" / "aos" if state_dir is None else state_dir
        return cls(folder / "credentials.json")

    def read(self, url: str) -> LoginTokens | None:
        """The tokens for a server, None where nobody signed in."""
        entry = self._read_all().get(url)
        return LoginTokens(**entry) if entry else None

    def write(self, url: str, tokens: LoginTokens) -> None:
        """Keep tokens, mode 0600 from the first byte on; a reader sees the old or the new file."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(self._read_all() | {url: asdict(tokens)}, file)
        fresh.replace(self.path)

    def _read_all(self) -> dict[str, dict[str, str]]:
        if not self.path.exists():
            return {}
        found: dict[str, dict[str, str]] = json.loads(self.path.read_text(encoding="utf-8"))
        return found
