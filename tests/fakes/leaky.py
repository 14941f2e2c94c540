"""Skills that give away what they are trusted with, in every way that badly written ones do."""

import asyncio
import base64
import json
import logging
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from cluster.basics.errors import Permanent, Transient
from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, Tool, ToolInvocation
from skills.framework.dependencies import CredentialOpener, Secret
from skills.framework.manifest import CredentialType, Kind, Manifest, Risk
from skills.framework.skill_guard import GuardedSkill, SkillGuard

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
library = logging.getLogger("some_library.client")


class LibraryError(Exception):
    """Of a library that nobody classified; it keeps what it says out of its args."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.said = said

    def __str__(self) -> str:
        return f"login failed: {self.said}"


def _all(secret: Secret) -> str:
    return " ".join(f"{key}={value}" for key, value in secret.items())


def _echo(secret: Secret) -> Any:
    text = _all(secret)
    return {
        "plain": dict(secret),
        "header": base64.b64encode(f"me:{text}".encode()).decode(),
        "url": quote(text, safe=""),
        "json": json.dumps(dict(secret)),
        "hex": text.encode().hex(),
        "list": [*secret.values()],
        text: "as a key",
    }


def _prints(secret: Secret) -> Any:
    print("connecting with", _all(secret))
    sys.stderr.write(f"debug {_all(secret)}\n")
    return {"printed": True}


def _logs(secret: Secret) -> Any:
    library.info("GET https://host.test/?%s", _all(secret))
    library.debug("config %r", {"secret": dict(secret)})
    try:
        raise LibraryError(_all(secret))
    except LibraryError:
        library.exception("retrying")
    warnings.warn(f"weak {_all(secret)}", stacklevel=1)
    return {"logged": True}


def _raises(make: Callable[[str], Exception]) -> Callable[[Secret], Any]:
    def leak(secret: Secret) -> Any:
        raise make(_all(secret))

    return leak


def _chained(secret: Secret) -> Any:
    try:
        raise LibraryError(_all(secret))
    except LibraryError as error:
        raise ValueError(f"because of {error}") from error


# By what they do with what they opened.
WAYS: Mapping[str, Callable[[Secret], Any]] = {
    "echoes": _echo,
    "prints": _prints,
    "logs": _logs,
    "refuses": _raises(lambda said: Permanent(f"refused {said}", fix=f"check {said}")),
    "wavers": _raises(lambda said: Transient(f"later {said}")),
    "breaks": _chained,
    "fails": _raises(LibraryError),
    "misnames": _raises(lambda said: KeyError(said)),
    "garbles": lambda secret: {"bytes": _all(secret).encode()},
}


@dataclass
class Leaky:
    """A skill that opens its credential and leaks it in its own way; `opened` counts."""

    manifest: Manifest
    credentials: CredentialOpener
    opened: list[str] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        return self.manifest.spec

    @property
    def effect(self) -> CallEffect:
        return self.manifest.effect

    async def run(self, call: ToolInvocation) -> Any:
        secret = await self.credentials.open(call, self.manifest)
        self.opened.append(self.manifest.name)
        way = WAYS[self.manifest.name.split("_", 1)[0]]
        # Some libraries are called in threads.
        return await asyncio.to_thread(way, secret) if call.arguments["n"] % 2 else way(secret)


class _Fenced(GuardedSkill):
    """Behind the real fence, a tool that no folder holds."""

    def give(self, tool: Tool) -> "_Fenced":
        self._tool = tool
        return self


def leaky(fence: SkillGuard, credentials: CredentialOpener, opened: list[str]) -> list[Tool]:
    """Each way with each type of credential; those of `Risk.WRITE` are called `*_asked`."""
    made: list[Tool] = []
    for way in WAYS:
        for type_ in CredentialType:
            for risk, end in ((Risk.READ, ""), (Risk.WRITE, "_asked")):
                manifest = Manifest(
                    f"{way}_{type_}{end}", "Leaks.", Kind.HTTP, SCHEMA, risk=risk, credential=type_, seconds=20
                )
                around = fence.around(manifest)
                behind = _Fenced(manifest, fence.ground, around._audit, around._clock)
                made.append(behind.give(Leaky(manifest, credentials, opened)))
    return made
