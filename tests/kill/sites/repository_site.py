"""A Git repository as a place that documents come from: what was written is committed and pushed before a sync."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.git_server import ENV, GitServer, git, git_server
from tests.kill.sites.site_port import Doorway, PlainSite, Site


@dataclass
class RepositorySite(PlainSite):
    """Its working copy, the bare one that is served, and a door before the server. `year`: of the next commit."""

    work: Path
    server: GitServer
    door: Doorway
    kind: str = "git"
    secret: Mapping[str, str] = field(default_factory=dict)
    keeps_moved: bool = True
    has_rights: bool = False
    is_settled: bool = True
    year: int | None = None

    @property
    def settings(self) -> Mapping[str, str]:
        return {"url": f"http://127.0.0.1:{self.door.port}/papers.git"}

    @property
    def bare(self) -> Path:
        return self.server.root / "papers.git"

    def put(self, id_: str, body: bytes) -> None:
        path = self.work / id_
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # another file: git sees that it changed, however coarse its clock is
        path.write_bytes(body)
        self.is_settled = False

    def delete(self, id_: str) -> None:
        (self.work / id_).unlink()
        self.is_settled = False

    def rename(self, id_: str, to: str) -> None:
        (self.work / to).parent.mkdir(parents=True, exist_ok=True)
        (self.work / id_).rename(self.work / to)
        self.is_settled = False

    def set_rights(self, id_: str, people: tuple[str, ...]) -> None:
        """A repository says nothing of people."""

    def touch(self, id_: str, year: int) -> None:
        """A file has no time of its own: the next commit has that one."""
        self.year, self.is_settled = year, False

    def settle(self) -> None:
        """One commit for all that was done, pushed."""
        if not self.is_settled:
            self._commit()
            self._push()
            self.is_settled = True

    def _commit(self) -> None:
        when = {}
        if self.year is not None:
            when = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{self.year}-01-01T00:00:00Z")
        git(self.work, "add", "-A")
        git(self.work, "commit", "-q", "--allow-empty", "-m", "next", **when)
        self.year = None

    def _push(self) -> None:
        git(self.work, "push", "-q", "--force", "origin", "HEAD:main")

    def stop(self) -> None:
        self.door.close()

    def start(self) -> None:
        self.door.open()

    def errors(self, on: bool) -> None:
        self.server.status = 500 if on else None

    def truth(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        """Of the commit that is served."""
        self.settle()
        command = ["git", "-C", str(self.bare), "archive", "main"]
        done = subprocess.run(command, env=ENV, capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
            return {one.name: (files.extractfile(one).read(), ()) for one in files if one.isfile()}  # type: ignore[union-attr]

    def own_lies(self) -> Mapping[str, AbstractContextManager[None]]:
        return {"a push of another history": self._other_history(), "no branch": self._no_branch()}

    @contextmanager
    def _other_history(self) -> Iterator[None]:
        """A commit without parents takes the place of all; half of its files are not there."""
        self.settle()
        head, files = git(self.work, "rev-parse", "HEAD"), git(self.work, "ls-files").splitlines()
        git(self.work, "checkout", "-q", "--orphan", "other")
        git(self.work, "rm", "-q", "--cached", *files[::2])
        git(self.work, "commit", "-q", "-m", "another history")
        self._push()
        try:
            yield
        finally:
            git(self.work, "checkout", "-q", "-f", "-B", "main", head)
            self._push()

    @contextmanager
    def _no_branch(self) -> Iterator[None]:
        self.settle()
        git(self.bare, "update-ref", "-d", "refs/heads/main")
        try:
            yield
        finally:
            self._push()


@contextmanager
def repository_site(base: Path) -> Iterator[Site]:
    """One with a server of its own."""
    with tempfile.TemporaryDirectory(prefix="aos-git-") as place, git_server(Path(place)) as server:
        door = Doorway(int(server.url.rpartition(":")[2]))
        door.open()
        try:
            yield RepositorySite(server.repository(), server, door)
        finally:
            door.close()
