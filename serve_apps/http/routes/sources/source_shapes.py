"""The shapes of requests and answers about sources."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from cluster.state.db.postgres import Row
from pipelines.documents.sources.item_rights import NOBODY, ReaderRules
from pipelines.documents.sources.source_port import ItemRights
from pipelines.documents.sync.rights_summary import RightsSummary
from pipelines.documents.sync.source_store import rights_from_json
from pipelines.documents.sync.source_trial import SourcePreview, SourceTrial
from serve_apps.http.fields import MOST_AGENT, MOST_TAGS, JsonObject, Name, RequestBody, Text

LISTED: Final = 100
Reader = Annotated[Text, StringConstraints(strip_whitespace=True, to_lower=True, max_length=300)]
Readers = Annotated[list[Reader], Field(max_length=200)]
Tags = Annotated[list[Name], Field(max_length=MOST_TAGS)]
AgentName = Annotated[Text, Field(max_length=MOST_AGENT)]
Period = Annotated[int, Field(ge=1, le=525_600)]
GroupName = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class SourceRequest(RequestBody):
    """A source. `settings` are those of its kind (GET /api/sources/kinds), `credential` is the name of one of the
    workspace's.

    `readers` may see its items where the source does not say who may; nobody named is the workspace. `group_names`:
    the source's names of groups to those here. More than `max_removed_percent` of its documents gone at once waits for
    a person. `erase_after_days` after a document has left it is deleted for good; null keeps it, hidden, for as long as
    retention does. Documents of a source with rights are hidden `stale_after_hours` after its last success.
    `watch`: where its kind can be watched, a change starts a sync. New documents get `tags`, and are linked to the
    agent.
    """

    name: Name
    kind: Name
    settings: JsonObject = Field(default_factory=dict)
    credential: Name | None = None
    readers: Readers = Field(default_factory=list)
    group_names: Annotated[dict[GroupName, GroupName], Field(max_length=1_000)] = Field(default_factory=dict)
    every_minutes: Period | None = None
    max_removed_percent: Annotated[int, Field(ge=0, le=100)] = 20
    erase_after_days: Annotated[int | None, Field(ge=0, le=36_500)] = None
    stale_after_hours: Annotated[int, Field(ge=1, le=87_600)] = 72
    enabled: bool = True
    watch: bool = True
    tags: Tags = Field(default_factory=list)
    agent_id: AgentName | None = None


class PathRegistration(RequestBody):
    """A folder below NFS_BASE_PATH, absolute or relative to it, whose files are documents from now on: a source of kind
    folder. It is watched, and listed every `every_minutes` beside; no description of the product says how often, so
    that a quarter of an hour is our own choice.

    `name` is the path where none is given, `agent_id` a UUID or a display name.
    """

    path: Annotated[Text, Field(min_length=1, max_length=4_096)]
    name: Name | None = None
    every_minutes: Period = 15
    readers: Readers = Field(default_factory=list)
    tags: Tags = Field(default_factory=list)
    agent_id: AgentName | None = None


class SourceTrialRequest(RequestBody):
    """A source that is only tried: `settings` are those of its kind, `credential` is the name of one."""

    kind: Name
    settings: JsonObject = Field(default_factory=dict)
    credential: Name | None = None


class SourcePreviewRequest(SourceTrialRequest):
    """And how the rights of its items would become readers."""

    readers: Annotated[list[Reader], Field(max_length=200)] = Field(default_factory=list)
    group_names: Annotated[dict[GroupName, GroupName], Field(max_length=1_000)] = Field(default_factory=dict)


class SourcePatch(RequestBody):
    """What is to be otherwise; what is left out stays. null counts for `credential` (none), `every_minutes` (only when
    asked) and `erase_after_days` (kept, hidden).
    """

    name: Name | None = None
    settings: JsonObject | None = None
    credential: Name | None = None
    readers: Annotated[list[Reader] | None, Field(max_length=200)] = None
    group_names: Annotated[dict[GroupName, GroupName] | None, Field(max_length=1_000)] = None
    every_minutes: Annotated[int | None, Field(ge=1, le=525_600)] = None
    max_removed_percent: Annotated[int | None, Field(ge=0, le=100)] = None
    erase_after_days: Annotated[int | None, Field(ge=0, le=36_500)] = None
    stale_after_hours: Annotated[int | None, Field(ge=1, le=87_600)] = None


class RemovalsRequest(RequestBody):
    """`removals`: how many you have seen waiting; another number by now is refused."""

    removals: Annotated[int, Field(ge=1)]


class WaitingRemovals(BaseModel):
    """Removals that wait for a person, with some of their paths. `reason` is incomplete, empty or many."""

    reason: str
    removals: int
    paths: list[str]
    job: UUID


class PlanShape(BaseModel):
    """What the newest sync or dry run came to: counts, and some paths of each sort."""

    job: UUID
    dry_run: bool
    at: datetime
    counts: dict[str, int]
    reason: str | None
    samples: dict[str, list[str]]


class SourceError(BaseModel):
    """Why the newest sync could not be done, or not wholly."""

    code: str
    detail: str
    fix: str | None = None
    at: datetime | None = None


class WatchShape(BaseModel):
    """How a source is watched. `mode`: events, where the kernel tells of changes in `folders`; polling, where every
    file is looked at again; sweeping, where everything is listed now and then; missing, where there is no folder;
    opening; nobody, where no process watches it; off, as the source is. `why` says what keeps it from being told.
    """

    mode: Literal["events", "polling", "sweeping", "missing", "opening", "nobody", "off"]
    why: str | None
    folders: int
    since: datetime | None
    changed_at: datetime | None


class SourceShape(BaseModel):
    """A source with what is here of it: `items` are its documents, `gone` those that left, `failed` not fetched.
    `watching` is null where it is not to be watched.
    """

    id: UUID
    name: str
    kind: str
    settings: dict[str, Any]
    credential: str | None
    readers: list[str]
    group_names: dict[str, str]
    has_rights: bool
    every_minutes: int | None
    max_removed_percent: int
    erase_after_days: int | None
    stale_after_hours: int
    enabled: bool
    job_id: UUID | None
    job_state: str | None
    waiting: WaitingRemovals | None
    last_plan: PlanShape | None
    last_error: SourceError | None
    last_success_at: datetime | None
    next_at: datetime | None
    hidden_at: datetime | None
    created_at: datetime
    items: int
    gone: int
    failed: int
    watch: bool
    tags: list[str]
    agent_id: UUID | None
    watching: WatchShape | None

    @classmethod
    def of(cls, row: Row) -> "SourceShape":
        """From a row of the store."""
        return cls(**row)


class Sources(BaseModel):
    """Sources by name."""

    items: list[SourceShape]
    total: int


class RegisteredPath(BaseModel):
    """A registered path. `id` is the source's, as in /api/sources, and `path` relative to NFS_BASE_PATH."""

    id: UUID
    path: str
    name: str
    every_minutes: int | None
    readers: list[str]
    tags: list[str]
    agent_id: UUID | None
    items: int
    failed: int
    job_id: UUID | None
    job_state: str | None
    last_error: SourceError | None
    last_success_at: datetime | None
    watching: WatchShape | None
    created_at: datetime

    @classmethod
    def of(cls, row: Row) -> "RegisteredPath":
        """From a row of the store."""
        return cls(path=row["settings"]["path"], **{name: row[name] for name in cls.model_fields if name != "path"})


class RegisteredPaths(BaseModel):
    """Registered paths by name."""

    items: list[RegisteredPath]
    total: int


class SourceKindShape(BaseModel):
    """A kind of source. `settings` by name; those that have to be given are `required`.

    `rights_setting`: where it is `yes`, the items say who may see them, as they do where `has_rights`.
    """

    name: str
    title: str
    settings: dict[str, str]
    required: list[str]
    has_rights: bool
    rights_setting: str | None
    takes_credential: bool


class SourceKinds(BaseModel):
    """All that there are."""

    items: list[SourceKindShape]


class SourceItemShape(BaseModel):
    """An item as it was seen last; `state` is here, waiting, gone or failed.

    `users` and `groups` are its rights in the source's words, null where it has none; `readers` are those here who may
    see it: an empty list is everybody of the workspace, unless `nobody` may. `unknown` are people and groups
    of the source that are nobody here.
    """

    path: str
    document_id: str | None
    status: str | None
    state: Literal["here", "waiting", "gone", "failed"]
    error: str | None
    users: list[str] | None
    groups: list[str] | None
    readers: list[str]
    nobody: bool
    unknown: list[str]
    seen_at: datetime
    gone_at: datetime | None

    @classmethod
    def of(cls, row: Row, rules: ReaderRules) -> "SourceItemShape":
        """From a row of the store; readers are as the next sync would have them."""
        error = (row["error"] or {}).get("detail")
        states = {"gone": row["gone_at"], "failed": row["error"], "waiting": row["awaiting_since"]}
        state: Any = next((name for name, value in states.items() if value is not None), "here")
        rights = rights_from_json(row["rights"])
        by_hand = None if rules.has_rights else row["by_hand"]
        readers = list(rules.readers_of(rights)) if by_hand is None else by_hand
        nobody = state == "gone" or NOBODY in readers
        unknown = rules.unknown_of(rights) if rules.has_rights else ItemRights()
        names = ("path", "document_id", "status", "seen_at", "gone_at")
        return cls(
            state=state,
            error=error,
            users=None if rights is None else list(rights.users),
            groups=None if rights is None else list(rights.groups),
            readers=[] if nobody else readers,
            nobody=nobody,
            unknown=[*(f"user:{one}" for one in unknown.users), *(f"group:{one}" for one in unknown.groups)],
            **{name: row[name] for name in names},
        )


class SourceItems(BaseModel):
    """Items by path."""

    items: list[SourceItemShape]
    total: int


class Tested(BaseModel):
    """What a source answered: some of its items, and what it could not list. `more`: there are others."""

    ok: bool
    paths: list[str]
    more: bool
    faults: list[str]

    @classmethod
    def of(cls, trial: SourceTrial) -> "Tested":
        """From a trial."""
        return cls(ok=not trial.faults, paths=list(trial.paths), more=trial.more, faults=list(trial.faults))


class NamedCount(BaseModel):
    """So many items."""

    name: str
    items: int


class SourceRights(BaseModel):
    """Rights as they are understood, counted in items, most first; each list is of at most 100, its total beside it.

    `readers` are those here who may see some; where a source has no rights, they are what somebody has chosen, and none
    is everybody of the workspace. `nobody`: items that no reader sees, `unsaid`: those of which the source tells no
    rights. `unknown_users` and `unknown_groups` are nobody here; `group_names` gives groups another name.
    """

    has_rights: bool
    items: int
    unsaid: int
    nobody: int
    readers: list[NamedCount]
    readers_total: int
    unknown_users: list[NamedCount]
    unknown_users_total: int
    unknown_groups: list[NamedCount]
    unknown_groups_total: int

    @classmethod
    def of(cls, summary: RightsSummary, has_rights: bool) -> "SourceRights":
        """From a summary."""
        named = {name: getattr(summary, name) for name in ("readers", "unknown_users", "unknown_groups")}
        return cls(
            has_rights=has_rights,
            items=summary.items,
            unsaid=summary.unsaid,
            nobody=summary.nobody,
            **{name: _most_first(counts) for name, counts in named.items()},
            **{f"{name}_total": len(counts) for name, counts in named.items()},
        )


class SourcePreviewShape(BaseModel):
    """What a first sync would bring, as far as that was seen in time; `more`: there are other items.

    `endings` counts items by the ending of their names. `unsized` of the items tell no size.
    """

    ok: bool
    items: int
    more: bool
    bytes: int
    unsized: int
    endings: dict[str, int]
    paths: list[str]
    faults: list[str]
    rights: SourceRights

    @classmethod
    def of(cls, preview: SourcePreview, has_rights: bool) -> "SourcePreviewShape":
        """From a preview."""
        names = ("items", "more", "bytes", "unsized")
        return cls(
            ok=not preview.faults,
            endings=dict(preview.endings),
            paths=list(preview.paths),
            faults=list(preview.faults),
            rights=SourceRights.of(preview.rights, has_rights),
            **{name: getattr(preview, name) for name in names},
        )


class Removed(BaseModel):
    """`job_id` is of the job that deletes the documents; null where they stay."""

    status: str
    job_id: UUID | None


def _most_first(counts: Mapping[str, int]) -> list[NamedCount]:
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [NamedCount(name=name, items=items) for name, items in ranked[:LISTED]]
