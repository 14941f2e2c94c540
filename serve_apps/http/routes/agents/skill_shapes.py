"""Request and response shapes of skills."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, Field, StringConstraints

from cluster.basics.scope import Role
from serve_apps.http.fields import JsonObject, RequestBody, Text
from serve_apps.http.response_shapes import copy_fields
from skills.framework.manifest import CredentialType, Kind, Manifest, Risk, manifest_of
from skills.framework.skill_store import MOST_CODE, MOST_TEXT, AttachedSkill, StoredSkill
from skills.python.trial import Tried, guess_parameters

MOST_SECONDS = 3_600

SkillName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
SkillInPath = Annotated[SkillName, Path(description="Up to 64 letters, digits, _ and -.")]
Code = Annotated[Text, StringConstraints(max_length=MOST_CODE)]
Description = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]
Seconds = Annotated[float, Field(gt=0, le=MOST_SECONDS, description="A call may take so long.")]
Schema = Annotated[JsonObject, Field(description="JSON Schema of the arguments, of type object.")]


class SkillRequest(RequestBody):
    """A skill, as the front matter of a SKILL.md says it; `text` is what follows there, `code` the Python."""

    name: SkillName
    description: Description
    type: Annotated[Text, StringConstraints(max_length=40)] = "internal"
    parameters: Schema = Field(default_factory=lambda: {"type": "object", "properties": {}})
    permissions: list[Role] = Field(default_factory=lambda: list(Role), max_length=len(Role))
    risk: Risk = Risk.READ
    keyed: bool = False
    timeout: Seconds = 30
    category: Annotated[Text, StringConstraints(max_length=100)] = ""
    credential: CredentialType | None = None
    options: JsonObject = Field(default_factory=dict)
    text: Annotated[Text, StringConstraints(max_length=MOST_TEXT)] = ""
    code: Code = ""

    def manifest(self) -> Manifest:
        """The value. Raises BadManifest: its type is unknown."""
        front = self.model_dump(mode="json", exclude={"text", "code", "tenant_id", "workspace_id"})
        return manifest_of(front, text=self.text, code=self.code)


class OnTheSpot(RequestBody):
    """A Python skill. Without `parameters` they are told from the sample, or from what `run` reads of its payload."""

    name: SkillName
    type: Literal["python_inline", "python"] = "python_inline"
    description: Description
    code: Annotated[Code, Field(min_length=1, description="Has `def run(payload)` that returns a dict.")]
    sandbox: Annotated[bool, Field(description="Forced: there is no way around the sandbox.")] = True
    parameters: Schema | None = None
    sample_payload: Annotated[JsonObject | None, Field(description="`run` has to work with it.")] = None
    timeout: Annotated[Seconds, Field(description="The sandbox's own limit holds as well.")] = 5

    def manifest(self) -> Manifest:
        """The value; it reads, because nothing outside can be reached from where it runs."""
        schema = self.parameters if self.parameters is not None else guess_parameters(self.code, self.sample_payload)
        front = self.model_dump(include={"name", "description", "type", "timeout"})
        front |= {"parameters": schema, "category": "Own/Python"}
        return manifest_of(front, code=self.code)


class AttachRequest(RequestBody):
    """Skill to attach, and the version to pin; null follows the newest."""

    name: SkillName
    version: Annotated[int | None, Field(ge=1, le=1_000_000)] = None


class SkillShape(BaseModel):
    """A skill; `origin` says whether it ships or was registered here, `sandbox` whether it runs in the sandbox."""

    name: str
    description: str
    type: Kind
    category: str
    risk: Risk
    permissions: list[Role]
    timeout: float
    credential: CredentialType | None
    parameters: dict[str, Any]
    options: dict[str, Any]
    version: int
    origin: Literal["shipped", "registered"]
    sandbox: bool

    @classmethod
    def of(cls, stored: StoredSkill) -> "SkillShape":
        """From the value."""
        one = stored.manifest
        origin = "shipped" if stored.ships else "registered"
        return copy_fields(cls, one, type=one.kind, timeout=one.seconds, origin=origin, sandbox=bool(one.code))


class SkillCounts(BaseModel):
    """Numbers of skills, by type and by category."""

    shipped: int
    stored: int
    by_type: dict[str, int]
    by_category: dict[str, int]


class SkillList(BaseModel):
    """Skills: those that ship by category and name, then those registered by name."""

    items: list[SkillShape]
    total: int
    counts: SkillCounts


class SkillVersionShape(BaseModel):
    """A version; what it says never changes."""

    version: int
    description: str
    text: str
    code: str
    sha256: str
    created_by: str | None
    created_at: datetime | None

    @classmethod
    def of(cls, stored: StoredSkill) -> "SkillVersionShape":
        """From the value."""
        return copy_fields(cls, stored.manifest, sha256=stored.sha256, created_by=stored.by, created_at=stored.at)


class SkillDetail(SkillShape):
    """The newest version, and all of them, newest first."""

    versions: list[SkillVersionShape]

    @classmethod
    def of_all(cls, versions: list[StoredSkill]) -> "SkillDetail":
        """From the values, newest first."""
        return cls(**SkillShape.of(versions[0]).model_dump(), versions=[SkillVersionShape.of(one) for one in versions])


class AgentSkill(BaseModel):
    """A skill of an agent; `version` is what its next turn has, null where the skill is gone."""

    name: str
    version: int | None
    pinned: bool
    type: Kind | None
    risk: Risk | None
    description: str
    attached_at: datetime

    @classmethod
    def of(cls, one: AttachedSkill) -> "AgentSkill":
        """From the value."""
        found = None if one.stored is None else one.stored.manifest
        known = {"name": one.name, "pinned": one.pinned is not None, "attached_at": one.at}
        if found is None:
            return cls(**known, version=None, type=None, risk=None, description="")
        return copy_fields(cls, found, **known, type=found.kind)


class AgentSkills(BaseModel):
    """`base` are tools that every agent has, unless its config lists others; `items` is what this one was given."""

    base: list[str]
    items: list[AgentSkill]
    total: int


class WrittenOnTheSpot(BaseModel):
    """Result: `created` a version, `attached` what was not; `tried` with the sample, or only `loaded`."""

    agent_id: UUID
    skill: SkillShape
    created: bool
    attached: bool
    sandbox: Literal[True] = True
    tried: Tried
    sample_result: dict[str, Any] | None
