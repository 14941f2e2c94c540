"""A workspace of a running product: files go in through the real reader and indexer, questions over HTTP."""

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from tests.evals.qa_data import paragraphs, plain
from tests.instance import Instance

AT_ONCE = 4  # questions

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass
class Shelf:
    """A workspace with the files of some folders.

    Attributes:
        files: where each document came from, by its id.
    """

    made: Instance
    workspace: str
    files: Mapping[str, Path]

    @classmethod
    def open(cls, made: Instance, name: str, folders: Iterable[Path]) -> "Shelf":
        """A new workspace, and every file of the folders in it.

        Raises:
            RuntimeError: a job ended before its time or with something unread, or a file is missing.
        """
        reply = made.http.post("/api/workspaces", json={"name": name})
        reply.raise_for_status()
        workspace = str(reply.json()["id"])
        here, wanted = {"X-Workspace": workspace}, 0
        for folder in folders:
            wanted += sum(path.is_file() for path in folder.rglob("*"))
            sent = made.http.post("/api/documents/batch-scan", json={"path": str(folder)}, headers=here)
            sent.raise_for_status()
            job = _wait(made, sent.json()["job_id"], here)
            # Pages with caveats, such as a table without rules, make a job partial, and are read all the same.
            if job["state"] not in ("completed", "partial") or job["failures"]:
                raise RuntimeError(f"{name}: the job of {folder} ended as {job['state']}: {job['failures']}")
        rows = made.rows("select id, origin from documents where workspace_id = %s", workspace)
        if len(rows) != wanted:
            raise RuntimeError(f"{name}: {len(rows)} documents of {wanted} files")
        return cls(made, workspace, {str(id_): Path(str(origin).split(":", 1)[-1]) for id_, origin in rows})

    def stem(self, document: str) -> str:
        """The name of a document's file, the same in every format."""
        return plain(self.files[document].stem)

    def company(self, document: str) -> str:
        """The folder of a document's file."""
        return plain(self.files[document].parent.name)

    def each(self, items: Sequence[Item], work: Callable[[httpx.Client, Item], Made]) -> list[Made]:
        """Do something for each item, some at a time, each thread with a client of its own; in the items' order."""
        mine, clients = threading.local(), list[httpx.Client]()
        headers = {"Authorization": self.made.http.headers["Authorization"], "X-Workspace": self.workspace}

        def one(item: Item) -> Made:
            if not hasattr(mine, "client"):
                mine.client = httpx.Client(base_url=self.made.http.base_url, headers=headers, timeout=120)
                clients.append(mine.client)
            return work(mine.client, item)

        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                return list(pool.map(one, items))
        finally:
            for client in clients:
                client.close()


def open_paragraphs(made: Instance, folder: Path) -> Shelf:
    """The paragraphs of squad2_dev in a workspace, each a document; their files are gone when this returns."""
    with tempfile.TemporaryDirectory(prefix="aos-squad-") as place:
        for name, text in paragraphs(folder).items():
            (Path(place) / f"{name}.md").write_text(text, encoding="utf-8")
        return Shelf.open(made, "paragraphs", [Path(place)])


def copy_files(files: Iterable[Path], folder: Path) -> None:
    """Into one folder, under their names."""
    for path in files:
        shutil.copy(path, folder / path.name)


def post(client: httpx.Client, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A reply as JSON.

    Raises:
        httpx.HTTPStatusError: it is an error.
    """
    reply = client.post(path, json=body)
    reply.raise_for_status()
    found: dict[str, Any] = reply.json()
    return found


def _wait(made: Instance, job: str, headers: Mapping[str, str]) -> dict[str, Any]:
    with httpx.Client(base_url=made.http.base_url, timeout=120) as client:
        client.headers.update({"Authorization": made.http.headers["Authorization"], **headers})
        watching = Instance(made.settings, made.env, client, made.up_seconds)
        return watching.wait(job)
