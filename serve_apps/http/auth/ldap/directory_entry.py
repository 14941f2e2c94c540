"""An entry of a directory: its lasting name, whether its account has ended, and names that mean the same."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from unicodedata import combining, normalize
from uuid import UUID

from ldap3.core.exceptions import LDAPInvalidDnError
from ldap3.utils.conv import escape_bytes
from ldap3.utils.dn import escape_rdn, parse_dn

from configs.sign_in_directories import LOGIN

# What says that an account has ended: Active Directory's, and 389 Directory Server's. OpenLDAP refuses to bind.
STATUS_ATTRIBUTES: Final = (
    "userAccountControl",
    "msDS-User-Account-Control-Computed",
    "accountExpires",
    "nsAccountLock",
)
DISABLED, LOCKED, PASSWORD_EXPIRED = 0x2, 0x10, 0x800000  # bits of Active Directory's userAccountControl
WINDOWS_EPOCH: Final = datetime(1601, 1, 1, tzinfo=UTC)
NEVER: Final = ("0", "9223372036854775807")
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_NO_UPN = re.compile(r"[\s@\\/:;,=+*?<>|\"()]")


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """An entry as the directory has given it; attributes by lower-case name, as bytes."""

    dn: str
    attributes: Mapping[str, tuple[bytes, ...]]

    def texts(self, name: str) -> list[str]:
        """The values of an attribute that are text."""
        values = []
        for one in self.attributes.get(name.lower(), ()):
            try:
                values.append(one.decode("utf-8"))
            except UnicodeDecodeError:  # bytes of some other kind, which no rule can name
                continue
        return values

    def subject(self, attribute: str) -> str | None:
        """Its lasting name; None where it has none, or several."""
        values = self.attributes.get(attribute.lower(), ())
        if len(values) != 1:
            return None
        if attribute == "objectGUID":
            return str(UUID(bytes_le=values[0])) if len(values[0]) == 16 else None
        return values[0].decode("ascii", "replace").strip().lower() or None

    def ended(self, now: datetime) -> str | None:
        """Why nobody may sign in by it; None where they may."""
        bits = 0
        for name in STATUS_ATTRIBUTES[:2]:
            for text in self.texts(name):
                bits |= int(text) if _NUMBER.fullmatch(text) else DISABLED  # what cannot be read lets nobody in
        if bits & DISABLED or "true" in map(str.lower, self.texts("nsAccountLock")):
            return "disabled"
        if bits & LOCKED:
            return "locked"
        if bits & PASSWORD_EXPIRED:
            return "password expired"
        return "expired" if any(_is_past(text, now) for text in self.texts("accountExpires")) else None


def _is_past(ticks: str, now: datetime) -> bool:
    """True where that many tenths of a microsecond since 1601 are over, or are no number."""
    if ticks in NEVER:
        return False
    return not _NUMBER.fullmatch(ticks) or WINDOWS_EPOCH + timedelta(microseconds=min(int(ticks) // 10, 10**17)) <= now


def filter_for(template: str, login: str) -> str:
    """A search filter with what somebody has typed in it, every byte of it escaped (RFC 4515)."""
    return template.replace(LOGIN, escape_bytes(login.encode()))


def members_filter(group_filter: str, rule: str, names: Iterable[str]) -> str:
    """Groups that have one of these as a member; `rule` is the attribute, with a matching rule if need be."""
    return f"(&{group_filter}(|{''.join(f'({rule}={escape_bytes(dn.encode())})' for dn in names)}))"


def bind_name_for(template: str, login: str) -> str | None:
    """The name that somebody binds with; None where what they have typed cannot be one."""
    if "=" in template:  # a DN
        return template.replace(LOGIN, escape_rdn(login)) if login.isprintable() and login else None
    before, _, after = template.partition(LOGIN)
    if login.startswith(before) and login.lower().endswith(after.lower()) and len(login) > len(before + after):
        login = login[len(before) : len(login) - len(after)]  # the whole name, such as ann@corp.example
    return template.replace(LOGIN, login) if login and login.isprintable() and not _NO_UPN.search(login) else None


def fold_name(text: str) -> str:
    """One text of those that name the same in a directory: case does not count, nor do spaces between a DN's parts."""
    try:
        parts = parse_dn(text, strip=True) if "=" in text else []
    except LDAPInvalidDnError:
        parts = []
    return ("".join(f"{name}={value}{separator}" for name, value, separator in parts) or text.strip()).casefold()


def fold_login(text: str) -> str:
    """One text of those that a directory may take for the same login: guesses are counted by it."""
    plain = normalize("NFKD", text).casefold()
    return "".join(letter for letter in plain if not combining(letter) and letter.isprintable() and letter != " ")
