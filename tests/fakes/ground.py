"""What skills stand on, for tests: secrets that are given, passages and scripts that are written down."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from configs.sections_skills import SkillSettings
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import CredentialMissing, Secret, SkillDependencies
from skills.framework.manifest import CredentialType, Manifest
from skills.framework.redaction import register_opened


@dataclass
class KeptSecrets:
    """One credential of each type that is given; `opened` records (call, type)."""

    kept: Mapping[CredentialType, Mapping[str, str]] = field(default_factory=dict)
    opened: list[tuple[ToolInvocation, CredentialType]] = field(default_factory=list)

    async def open(self, call: ToolInvocation, manifest: Manifest, refused: str | None = None) -> Secret:
        type_ = manifest.credential
        if type_ is None or type_ not in self.kept:
            raise CredentialMissing(f"{manifest.name} needs a credential of type {type_}")
        self.opened.append((call, type_))
        secret = Secret(f"kept-{type_}", type_, self.kept[type_])
        register_opened(secret)
        return secret


@dataclass
class GivenPassages:
    """Finds what it was given; `asked` records what was looked for."""

    found: Sequence[Mapping[str, Any]] = ()
    asked: list[tuple[Scope, str, str]] = field(default_factory=list)

    async def find(self, scope: Scope, agent: str, query: str, limit: int, min_similarity: float | None) -> Any:
        self.asked.append((scope, agent, query))
        return {"passages": [dict(one) for one in self.found[:limit]]}


Script = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | AosError]


@dataclass(frozen=True)
class Ran:
    """An outcome."""

    value: Mapping[str, Any]
    stdout: str = ""
    stderr: str = ""
    ms: float = 1.0


@dataclass
class GivenScripts:
    """Gives what a function makes of source and payload: nothing is executed. `ran` records (source, payload)."""

    script: Script = lambda source, payload: {"payload": dict(payload)}
    ran: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def run(self, source: str, payload: Mapping[str, Any], *, seconds: float | None = None) -> Ran:
        self.ran.append((source, payload))
        given = self.script(source, payload)
        if isinstance(given, AosError):
            raise given
        return Ran(given)


async def nowhere(host: str, port: int) -> Sequence[str]:
    """A resolver for which every name is this machine."""
    return ["127.0.0.1"]


def ground(**other: Any) -> SkillDependencies:
    """A ground with nothing switched off; `other` replaces fields."""
    made = SkillDependencies(SkillSettings(off=()), KeptSecrets(), GivenPassages(), GivenScripts(), nowhere)
    return replace(made, **other)
