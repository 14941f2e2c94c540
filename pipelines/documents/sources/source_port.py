"""The port to a source that is synchronised: what it lists, what an item is, and how its bytes are read."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, runtime_checkable

from cluster.basics.errors import Invalid, Permanent, Transient


class SourceInvalid(Invalid):
    """The source is not described as its kind needs it."""

    code = "source_invalid"


class SourceRefused(Permanent):
    """The source does not let us in."""

    code, status = "source_refused", 409
    fix = "Look at its settings and its credential, then try: aos sources test NAME."


class SourceAway(Transient):
    """The source does not answer."""

    code = "source_away"


class ItemGone(Permanent):
    """The item is not there any more."""

    code, status = "item_gone", 404


@dataclass(frozen=True, slots=True)
class ItemRights:
    """Who may see an item, in the source's own words: e-mail addresses of people, names of groups."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceItem:
    """An item as the source lists it.

    Attributes:
        id: stays the same for as long as the source can tell that it is the same item.
        version: another one whenever its bytes may have changed.
        path: where people find it, with `/`; its last part is the document's name.
        size: in bytes, where the listing tells it.
        fingerprint: the same for an item that was only moved, where ids do not survive that; else None.
        rights: None where the source knows none.
        settled: False while its bytes are still being written: it is there, and is read another time.
    """

    id: str
    version: str
    path: str
    size: int | None = None
    fingerprint: str | None = None
    rights: ItemRights | None = None
    settled: bool = True

    @property
    def filename(self) -> str:
        """The last part of its path."""
        return PurePosixPath(self.path).name or self.path


@dataclass(frozen=True, slots=True)
class ListingFault:
    """Something that could not be listed: what is behind it may well be there."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class ListingPage:
    """Part of a listing.

    Attributes:
        removed: ids that the source says are gone, where it lists changes, and that pages before may have named.
        notes: what was passed over on purpose and people are told of; nothing of it is missing.
        cursor: from which the next listing goes on; counts where it stands on the last page.
        full: the pages together name everything there is, so that whatever they leave out is gone.
    """

    items: Sequence[SourceItem] = ()
    removed: Sequence[str] = ()
    faults: Sequence[ListingFault] = ()
    cursor: str | None = None
    full: bool = True
    notes: Sequence[ListingFault] = ()


class Source(Protocol):
    """Port to an opened source. Foreign errors are classified here: SourceRefused, SourceAway, ItemGone."""

    def list_changes(self, cursor: str | None) -> AsyncIterator[ListingPage]:
        """What has changed since the cursor, or everything. Ends early only by raising."""

    def read(self, item: SourceItem, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """Bytes of an item from `start` on, at most `length` of them. Raises ItemGone."""

    def local_path(self, item: SourceItem) -> Path | None:
        """Where every worker finds its bytes, which then stay in place; None where they have to be fetched.

        Asks the file system. Raises ItemGone.
        """

    async def close(self) -> None:
        """Give connections back."""


@dataclass(frozen=True, slots=True)
class SourceFolder:
    """A folder, by what its kind's setting `folder` takes."""

    id: str
    name: str


@runtime_checkable
class BrowsableSource(Protocol):
    """A source whose folders people can look through; see `Source` for what is raised."""

    async def list_folders(self, parent: str | None) -> Sequence[SourceFolder]:
        """The folders right below one; None: below the one that its settings name."""


@dataclass(frozen=True, slots=True)
class SourceBounds:
    """Bounds that the operator sets.

    Attributes:
        git_pack_bytes: of what one fetch of a repository may bring.
        web_rate: requests a second that a crawl may ask a site for.
        cache_bytes: of everything that sources keep in their cache.
    """

    git_pack_bytes: int = 2**30
    web_rate: float = 10.0
    cache_bytes: int = 5 * 2**30


async def _refuse_host(host: str, port: int) -> str:
    raise SourceInvalid(f"{host}:{port} cannot be reached from here")


@dataclass(frozen=True, slots=True)
class SourceDependencies:
    """What opening a source may need from this installation.

    Attributes:
        base: the folder below which folders may be read; None where none may.
        check_endpoint: gives the URL to use for an endpoint's; raises where that may not be connected to.
        check_host: gives the address to connect to for a host and a port; raises likewise.
        settle_seconds: a file that was written less long ago is looked at twice, so that none is read half.
        cache: the folder below which sources may keep what they can fetch again; None: nothing outlives an opening.
    """

    base: Path | None
    check_endpoint: Callable[[str], Awaitable[str]]
    check_host: Callable[[str, int], Awaitable[str]] = _refuse_host
    settle_seconds: float = 0.0
    cache: Path | None = None
    bounds: SourceBounds = SourceBounds()


@dataclass(frozen=True, slots=True)
class SourceOpening:
    """What a source is opened with: its settings, and the opened fields of its credential.

    `place`: its tenant and workspace; what one keeps in the cache is no other's.
    """

    settings: Mapping[str, Any]
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    place: str = ""


class OpenSource(Protocol):
    """Opens a source of one kind."""

    async def __call__(self, opening: SourceOpening, dependencies: SourceDependencies) -> Source:
        """Raises SourceInvalid, SourceRefused, SourceAway."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source: one small module each.

    Attributes:
        title: as people call it.
        settings: by name what each says; those with a `*` have to be there.
        open: opens one.
        has_rights: its items say who may see them; one that does not is for nobody.
        takes_credential: it may name one of the workspace's credentials, whose fields it is opened with.
        rights_setting: where this setting is `yes`, its items say who may see them.
        listing_reads: its listing reads everything, so that one is made at a time, for all who ask.
        watch_root: the folder in which a change is one of the source's, for kinds that can be watched.
        pin: settings as they are kept, for kinds that read folders of this installation: links of theirs are followed
            when somebody saves them, and not again.
    """

    name: str
    title: str
    settings: Mapping[str, str]
    open: OpenSource
    has_rights: bool = False
    takes_credential: bool = False
    rights_setting: str | None = None
    listing_reads: bool = False
    watch_root: Callable[[Mapping[str, Any], SourceDependencies], Path] | None = None
    pin: Callable[[Mapping[str, Any], SourceDependencies], Mapping[str, Any]] | None = None

    def says_rights(self, settings: Mapping[str, Any]) -> bool:
        """True if items of a source with these settings say who may see them."""
        return self.has_rights or (self.rights_setting is not None and settings.get(self.rights_setting) == "yes")

    def check(self, settings: Mapping[str, Any]) -> None:
        """Raises SourceInvalid: a setting is missing, unknown or no text."""
        known = {name.rstrip("*") for name in self.settings}
        if unknown := sorted(settings.keys() - known):
            raise SourceInvalid(f"{self.name} has no setting {unknown[0]!r}", fix=f"It has {', '.join(sorted(known))}.")
        missing = [name.rstrip("*") for name in self.settings if name.endswith("*") and not settings.get(name[:-1])]
        if missing:
            raise SourceInvalid(f"{self.name} needs the setting {missing[0]!r}")
        if wrong := [name for name, value in settings.items() if not isinstance(value, str)]:
            raise SourceInvalid(f"the setting {wrong[0]!r} is no text")
