"""A mirror of one branch of a repository: its newest commit alone, fetched over HTTP into a bare store in the cache."""

import ssl
import struct
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from dulwich.client import AbstractHttpGitClient, InvalidWants
from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    GitProtocolError,
    MissingCommitError,
    NotGitRepository,
    ObjectMissing,
    RefFormatError,
    WrongObjectException,
)
from dulwich.objects import ObjectID
from dulwich.pack import PackFileDisappeared, UnresolvedDeltas
from dulwich.refs import Ref, SymrefLoop
from dulwich.repo import Repo

from cluster.basics.cleanup import cleanup_on_error
from pipelines.documents.sources.checked_http import CONNECTION, CheckedHost, tls_context
from pipelines.documents.sources.repositories.git_pack import PackDamaged, PackTooLarge, check_pack
from pipelines.documents.sources.source_cache import CachePlace
from pipelines.documents.sources.source_port import SourceAway, SourceInvalid, SourceRefused

OBJECT_BYTES: Final = 1 << 28  # of one object: each is held in memory as a whole
_FILTER: Final = b"blob:limit=%d" % OBJECT_BYTES
_INFLATED: Final = 20  # times as large as a pack may be what it holds
_PACKS: Final = 16  # of a mirror; then it begins anew
_SECONDS: Final = 1800.0  # of one fetch
_MINE: Final = Ref(b"refs/heads/aos")
_DAMAGED: Final = (
    *(GitProtocolError, ChecksumMismatch, ApplyDeltaError, FileFormatException, MissingCommitError, ObjectMissing),
    *(RefFormatError, WrongObjectException, InvalidWants, UnresolvedDeltas, PackFileDisappeared, SymrefLoop),
    PackDamaged,
)
# Servers and stores that make no sense end in these somewhere within dulwich. A StopIteration that left a thread would
# keep whoever waits for it for ever.
_NONSENSE: Final = (
    *(ValueError, LookupError, AssertionError, EOFError, TypeError, AttributeError, ArithmeticError, RecursionError),
    *(StopIteration, NotImplementedError, BufferError, zlib.error, struct.error, ssl.SSLError, httpx.InvalidURL),
)
STORE_ERRORS: Final = (NotGitRepository, OSError, *_DAMAGED, *_NONSENSE)
"""Whatever reading a store may raise that is damaged."""


@dataclass(frozen=True, slots=True)
class GitRemote:
    """Where a repository is fetched from; `branch`: None is the one that its HEAD names."""

    url: str
    host: CheckedHost
    branch: str | None
    most_bytes: int
    auth: tuple[str, str] | None = field(default=None, repr=False)

    def head_of(self, refs: Mapping[Any, Any]) -> ObjectID | None:
        """The commit of the branch. None: nothing was ever committed. Raises SourceRefused: there is no such branch."""
        found: ObjectID | None = refs.get(b"HEAD" if self.branch is None else b"refs/heads/" + self.branch.encode())
        if found is None and self.branch is not None and refs:
            raise SourceRefused(f"there is no branch {self.branch}", fix="Name one that there is, or none for HEAD.")
        return found


class GitMirror:
    """The mirror of one remote. Blocks: it runs in threads, and the lock of its place keeps processes apart."""

    def __init__(self, remote: GitRemote, place: CachePlace) -> None:
        """Nothing is connected to yet."""
        self._remote, self._place = remote, place

    def ask(self) -> None:
        """See whether it answers and lets us in. Raises SourceRefused, SourceAway."""
        with _GitHttp(self._remote) as client, _classified():
            self._remote.head_of(client.get_refs("", ref_prefix=self._prefixes()).refs)

    def fetch(self) -> ObjectID | None:
        """Bring the mirror to the remote's newest commit, which is told. Raises SourceRefused, SourceAway."""
        with self._place.locked(alone=True) as folder:
            try:
                with _classified():
                    head = self._fetch_into(folder)
            except MirrorDamaged:  # of an earlier time, or by a disk
                self._place.empty()
                try:
                    with _classified():
                        head = self._fetch_into(folder)
                except MirrorDamaged as error:
                    raise SourceAway(str(error)) from error
        self._place.trim()
        return head

    def close(self) -> None:
        """Drop what was kept for this opening alone."""
        self._place.close()

    def _prefixes(self) -> Sequence[bytes]:
        return [b"HEAD"] if self._remote.branch is None else [b"HEAD", b"refs/heads/" + self._remote.branch.encode()]

    def _fetch_into(self, folder: Path) -> ObjectID | None:
        repo = self._opened(folder)
        heads: list[ObjectID | None] = []

        def wanted(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
            heads.append(head := self._remote.head_of(refs))
            return [] if head is None or head in repo.object_store else [head]

        with repo, _GitHttp(self._remote) as client, tempfile.TemporaryFile(dir=folder) as file:
            with _classified():
                told = client.fetch_pack(
                    "",
                    wanted,
                    repo.get_graph_walker(),
                    file.write,
                    depth=1,
                    ref_prefix=self._prefixes(),
                    filter_spec=_FILTER,
                )
            if file.tell():
                self._take_pack(repo, file)
            if told.new_shallow or told.new_unshallow:
                repo.update_shallow(told.new_shallow, told.new_unshallow)
            head = heads[0] if heads else None
            if head is None:
                return None
            try:
                _ = repo[repo[head].tree]  # type: ignore[attr-defined]
            except (*_NONSENSE, *_DAMAGED) as error:
                raise MirrorDamaged("the repository's newest commit did not come") from error
            repo.refs[_MINE] = head
            return head

    def _take_pack(self, repo: Repo, file: Any) -> None:
        try:
            check_pack(file, OBJECT_BYTES, self._remote.most_bytes * _INFLATED)
            file.seek(0)
            repo.object_store.add_thin_pack(file.read, None)
        except PackTooLarge as error:
            raise SourceRefused(f"the repository is too large: {error}") from error
        except (*_DAMAGED, *_NONSENSE) as error:
            raise MirrorDamaged(f"the pack is damaged: {error}"[:300]) from error

    def _opened(self, folder: Path) -> Repo:
        """The bare store; without what a fetch that was killed has left, and begun anew where it has grown."""
        for left in (*folder.glob("objects/tmp_pack_*"), *folder.glob("objects/pack/tmp*")):
            left.unlink(missing_ok=True)
        if len(list(folder.glob("objects/pack/*.pack"))) >= _PACKS:
            self._place.empty()
        with suppress(NotGitRepository, *_DAMAGED, *_NONSENSE):
            return Repo(str(folder))
        self._place.empty()
        return Repo.init_bare(str(folder))


class MirrorDamaged(Exception):
    """What was fetched, or had been before, makes no whole."""


class _classified:
    """Errors of dulwich as ours: a server that makes no sense is away."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (NotGitRepository, *_DAMAGED, *_NONSENSE)):
            raise SourceAway(f"the server makes no sense: {str(error)[:200] or type(error).__name__}") from error


class _GitHttp(AbstractHttpGitClient):
    """dulwich's client over connections that go to the checked address alone, bounded in bytes and time."""

    def __init__(self, remote: GitRemote) -> None:
        super().__init__(remote.url, quiet=True)
        self._remote, self._left, self._end = remote, remote.most_bytes, time.monotonic() + _SECONDS
        self._http = httpx.Client(verify=tls_context(), auth=remote.auth, **CONNECTION)

    def __enter__(self) -> "_GitHttp":
        return self

    def __exit__(self, *how: object) -> None:
        self._http.close()

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[Any, Callable[[int], bytes]]:
        host = self._remote.host
        try:
            address = host.address_of(url)
        except SourceInvalid as error:  # a server may name another host for parts of a pack
            raise SourceRefused(f"the repository leads elsewhere: {error.detail}"[:300]) from error
        request = self._http.build_request(
            "GET" if data is None else "POST",
            address,
            headers={**(headers or {}), **host.headers, "Accept-Encoding": "identity"},
            content=data,
            extensions=dict(host.extensions),
        )
        try:
            answer = self._http.send(request, stream=True)
        except httpx.HTTPError as error:
            raise classify_http_error(error) from error
        reply = _Reply(answer)
        with cleanup_on_error(answer.close):
            _check_answer(answer, reply.content_type)
        return reply, _ExactReader(answer, self._spend).read

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise SourceRefused(
                f"the repository is larger than {self._remote.most_bytes} bytes (AOS_SOURCES_GIT_PACK_BYTES)"
            )
        if time.monotonic() > self._end:
            raise SourceAway("the repository takes too long to fetch")


class _Reply:
    """What dulwich asks of a response."""

    redirect_location = ""

    def __init__(self, answer: httpx.Response) -> None:
        self.status, self.close = answer.status_code, answer.close
        self.content_type = answer.headers.get("content-type")


class _ExactReader:
    """Gives exactly as many bytes as are asked for, but at the end."""

    def __init__(self, answer: httpx.Response, spend: Callable[[int], None]) -> None:
        self._blocks, self._held, self._spend = answer.iter_raw(1 << 16), bytearray(), spend

    def read(self, count: int = -1) -> bytes:
        while count < 0 or len(self._held) < count:
            try:
                block = next(self._blocks, b"")
            except httpx.HTTPError as error:
                raise classify_http_error(error) from error
            if not block:
                break
            self._spend(len(block))
            self._held += block
        count = len(self._held) if count < 0 else count
        given = bytes(self._held[:count])
        del self._held[:count]
        return given


def _check_answer(answer: httpx.Response, content_type: str | None) -> None:
    status = answer.status_code
    if status in (401, 403):
        raise SourceRefused(f"the repository: access was refused ({status})")
    if status in (404, 410):
        raise SourceRefused("there is no such repository, or it may not be seen with this credential")
    if 300 <= status < 400:
        raise SourceRefused("the repository has moved", fix="Give its new URL: redirects are not followed.")
    if status != 200:
        raise SourceAway(f"the server answers {status}")
    if not (content_type or "").startswith("application/x-git-"):  # a web page, or files for the dumb protocol
        raise SourceRefused("no git server answers there", fix="Give the URL that git clone takes.")


def classify_http_error(error: httpx.HTTPError) -> SourceRefused | SourceAway:
    """What a connection failed of."""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return SourceRefused("the server's certificate is not valid for this host")
    return SourceAway(f"the server does not answer: {str(error)[:200] or type(error).__name__}")
