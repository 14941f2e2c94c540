"""Dependencies of the kinds of skills: settings, credentials, sandbox, documents, host name resolution."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from cluster.basics.addresses import Resolve
from cluster.basics.errors import Permanent
from cluster.basics.scope import Scope
from configs.sections_skills import SkillSettings
from skills.framework.contract import Tool, ToolInvocation
from skills.framework.manifest import CredentialType, Manifest
from skills.framework.mcp_connections import McpConnections
from skills.framework.passage_source import EntitySource, FieldSource, PassageSource, TableSource


class SkillDisabled(Permanent):
    """This skill, or its kind, is switched off here."""

    code, status = "skill_disabled", 403
    fix = "Take it out of `skills.off` in the settings (AOS_SKILLS_OFF)."


class CredentialMissing(Permanent):
    """The agent has no credential of the type that this skill needs."""

    code, status = "credential_missing", 409
    fix = "Store one of this type, and bind it to the agent or to the skill."


class AmbiguousCredential(Permanent):
    """Several credentials fit; one has to be chosen."""

    code, status = "credential_ambiguous", 409
    fix = "Bind one of them to the agent or to the skill."


@dataclass(frozen=True, slots=True)
class Secret(Mapping[str, str]):
    """An opened credential, for one call: its values by field name, secret or not. It never shows itself."""

    name: str  # of the credential; may be shown
    type: CredentialType  # which sort
    values_: Mapping[str, str] = field(repr=False)
    # Names of the fields that are no secret, such as a host; the others are taken out of what a call says.
    shown: frozenset[str] = frozenset()

    def __getitem__(self, key: str) -> str:
        return self.values_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, {self.type!s})"


class CredentialOpener(Protocol):
    """Opens the one credential that a call is entitled to."""

    async def open(self, call: ToolInvocation, manifest: Manifest, refused: str | None = None) -> Secret:
        """The secret of the type that the manifest names, discovered in three tiers.

        `refused`: a token of oauth that the service has just not taken; another one comes in its place.

        Raises:
            CredentialMissing: the agent has none of this type.
            AmbiguousCredential: several fit; the detail names them.
        """


class PersonTokens(Protocol):
    """Tokens of the person for whom a call is made."""

    async def open(self, scope: Scope, credential: str, client: Secret, refused: str | None = None) -> Secret:
        """A token by a credential of type oauth, by its id; `client` is what it opens to.

        Raises AosError: by name: they are not connected, or the authorization server does not give one.
        """


class ScriptOutcome(Protocol):
    """Result of a script: the dict that `run` returned, its output (cut), and its duration in ms."""

    @property
    def value(self) -> Mapping[str, Any]:
        """Return value of `run`."""

    @property
    def stdout(self) -> str:
        """Standard output, cut."""

    @property
    def stderr(self) -> str:
        """Standard error, cut."""

    @property
    def ms(self) -> float:
        """Wall time."""


class ScriptRunner(Protocol):
    """Runs untrusted Python behind a wall."""

    async def run(self, source: str, payload: Mapping[str, Any], *, seconds: float | None = None) -> ScriptOutcome:
        """Call `run(payload)` of the source.

        Raises AosError: by name: it failed, took too long, wanted too much, or the wall is not whole on this machine.
        """


@dataclass(frozen=True, slots=True)
class SkillDependencies:
    """Dependencies passed to the `build` of each kind, which takes those it needs."""

    settings: SkillSettings  # what is switched on, and what is allowed
    credentials: CredentialOpener  # secrets, for a call
    passages: PassageSource  # the documents that are linked to the agent
    scripts: ScriptRunner  # the sandbox
    resolve: Resolve  # names of hosts to addresses
    hosts: tuple[str, ...] = ()  # what `http_get` may read, as `skills.http_client.guard` reads it
    remotes: McpConnections = field(default_factory=McpConnections)  # connections to MCP servers
    entities: EntitySource | None = None  # what those documents name; None where there is no graph
    tables: TableSource | None = None  # the tables in those documents; None where there are none
    fields: FieldSource | None = None  # values of those documents by a schema; None where there are no documents


# `build(manifest, ground)` of a kind's tool.py: a tool that carries out what the manifest describes.
# Raises BadManifest where the manifest's options are not what the kind wants, Disabled where the kind is switched off.
Build = Callable[[Manifest, SkillDependencies], Tool]


class HostKeyMissing(Permanent):
    """The credential has no key of the machine, and without one anybody could answer in its place."""

    code = "ssh_known_hosts_missing"


class SshKeyUnreadable(Permanent):
    """The credential's private_key, passphrase or known_hosts cannot be read."""

    code = "ssh_key_unreadable"
    fix = "private_key is the whole text of an OpenSSH or PEM file; known_hosts are lines as ssh-keyscan prints them."
