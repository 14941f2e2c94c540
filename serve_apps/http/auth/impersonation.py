"""Headers that name a person, from a front end such as Open WebUI which shows one key for all of its people.

They count with an API key that may act for people, and with nothing else: whoever can send a header could be anybody.
"""

import re
from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers

from cluster.basics.errors import Forbidden
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.http.fields import EMAIL_PATTERN, LONGEST_EMAIL

START: Final = "x-openwebui-user-"
EMAIL: Final = f"{START}email"
CHAT: Final = "x-openwebui-chat-id"
_EMAIL = re.compile(EMAIL_PATTERN)
_CHAT = re.compile(r"[!-~]{1,128}")


class ImpersonationRefused(Forbidden):
    """This credential may not act for other people."""

    code = "impersonation_refused"
    fix = "Leave the X-OpenWebUI-User-* headers out, or send them with an API key that may act for people."


class UnknownPerson(Forbidden):
    """The person whom the headers name is nobody here."""

    code = "unknown_person"
    fix = "Send X-OpenWebUI-User-Email of a member of the key's workspace; an administrator can make them one."


def names_person(headers: Headers) -> bool:
    """True for a request that says for whom it is sent."""
    return any(name.startswith(START) for name in headers)


def forwarded_email(headers: Headers) -> str:
    """The address of the person, in lower case. Raises UnknownPerson: there is none, or several."""
    given: Sequence[str] = headers.getlist(EMAIL)
    email = given[0].strip().lower() if len(given) == 1 else ""
    if len(email) > LONGEST_EMAIL or not _EMAIL.fullmatch(email):
        raise UnknownPerson("X-OpenWebUI-User-Email has to stand there once, and be an e-mail address")
    return email


def credential_with_person(credential: str, headers: Headers) -> str:
    """What tells callers apart who show the same key for different people."""
    return f"{credential} {headers[EMAIL].strip().lower()[:LONGEST_EMAIL]}" if EMAIL in headers else credential


def forwarded_chat(headers: Headers, member: WorkspaceMember) -> str | None:
    """The front end's name for the conversation, where it acts for a person; among theirs alone it means something."""
    chat = headers.get(CHAT, "")
    return chat if member.by_service and _CHAT.fullmatch(chat) else None
