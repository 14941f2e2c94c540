"""Files on their way: each is sent to the API, then followed until it can be searched or says why not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, link, progress, table
from serve_apps.ui.kit.caveats import doubts, title, where
from serve_apps.ui.kit.formats import many, size
from serve_apps.ui.kit.html import Child, Html, tag
from serve_apps.ui.kit.page import Desk
from serve_apps.ui.kit.problem import Problem, Trouble

AT_ONCE: Final = 2
LOOK_SECONDS: Final = 1.0
MOST_JOBS: Final = 200
ENDS: Final = frozenset({"completed", "partial", "failed", "cancelled"})


def too_large(most: int | None) -> Html:
    """Placeholder where look.js names files larger than `most` bytes that are left out, and the limit.

    Gradio refuses all files that are chosen together where one of them is too large, and says only "Error".
    """
    limit = None if most is None else str(most)
    return tag("div", role="status", class_="doc-too-large", data_most=limit, data_limit=size(most))


class Sending:
    """One file and how far it is."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet but its size."""
        self.path, self.name, self.bytes = path, path.name, path.stat().st_size
        self.state = "waiting"
        self.document: str | None = None
        self.job: str | None = None
        self.pages: tuple[int, int] = (0, 0)
        self.trouble: Trouble | None = None

    @property
    def ended(self) -> bool:
        """True once the upload, and its job, are over."""
        return self.state in ENDS or self.state in ("refused", "duplicate")


async def sent(desk: Desk, api: Api, paths: Sequence[str]) -> AsyncIterator[Html]:
    """Send them, a few at once, and show every file until all have ended; whoever leaves stops what is not sent yet."""
    files = [Sending(Path(path)) for path in paths]
    slots = asyncio.Semaphore(AT_ONCE)
    tasks = [asyncio.create_task(_send(api, file, slots)) for file in files]
    try:
        while True:
            yield shown(desk, files)
            if all(file.ended for file in files):
                return
            await asyncio.sleep(LOOK_SECONDS)
            await _look(api, files)
    finally:
        for task in tasks:
            task.cancel()


def shown(desk: Desk, files: Sequence[Sending]) -> Html:
    """A line a file: what it is at, and the reason where it was refused."""
    ended = sum(file.ended for file in files)
    rows = [(_name(desk, file), size(file.bytes), _state(file), _about(desk, file)) for file in files]
    done = "The file is done" if ended == 1 else f"All {ended} files are done"
    said = f"{ended} of {many(len(files), 'file')} done" if ended < len(files) else done
    hint = (
        "Keep this page open until every file is sent; what was sent goes on by itself." if ended < len(files) else ""
    )
    lines = table(("File", "Size", "State", ""), rows, caption=said, numbers=(1,))
    return tag(
        "div",
        progress(ended, len(files), "Files"),
        lines,
        tag("p", hint, class_="quiet") if hint else None,
        role="status",
    )


def _name(desk: Desk, file: Sending) -> Html:
    return link(file.name, desk.link("documents", id=file.document) if file.document else None)


def _state(file: Sending) -> Html:
    if file.state == "duplicate":
        return badge("known already", "grey")
    return badge(file.state)


def _about(desk: Desk, file: Sending) -> Child:
    if file.trouble is not None:
        fix = tag("div", tag("b", "What to try: "), file.trouble.fix) if file.trouble.fix else None
        return tag("div", file.trouble.title, " ", file.trouble.detail, fix)
    if file.state == "duplicate":
        return "The workspace has these bytes; nothing is read twice."
    job = link("its job", desk.link("ingest", job=file.job)) if file.job else None
    if file.state in ("failed", "partial"):
        return tag("div", "Not all of it could be read: see ", job, ".")
    done, expected = file.pages
    return progress(done, expected, "Pages") if expected else job


async def _send(api: Api, file: Sending, slots: asyncio.Semaphore) -> None:
    async with slots:
        file.state = "sending"
        try:
            with file.path.open("rb") as bytes_:
                body = await api.post("/api/documents/upload", files={"file": (file.name, bytes_)})
        except Problem as problem:
            file.state, file.trouble = "refused", problem.told
            return
        except OSError as error:
            gone = Trouble("The file is gone from the console.", str(error.strerror), "Choose it again.", 0, "gone")
            file.state, file.trouble = "refused", gone
            return
    file.document, file.job = body["document_id"], body["job_id"]
    file.state = "queued" if file.job else "duplicate"


async def _look(api: Api, files: Sequence[Sending]) -> None:
    """Poll the state of all jobs in one request; an API error is ignored until the next poll."""
    open_ = {file.job: file for file in files if file.job and not file.ended}
    if not open_:
        return
    try:
        body = await api.get("/api/jobs", limit=min(MOST_JOBS, len(open_) + 50))
    except Problem:
        return
    for job in body["items"]:
        if (file := open_.pop(job["id"], None)) is not None:
            _take(file, job)
    for file in files:
        if file.job and file.state in ("failed", "partial") and file.trouble is None:
            await _why(api, file)
    for id_, file in list(open_.items())[:5]:  # those that newer jobs pushed off the list
        try:
            _take(file, await api.get(f"/api/jobs/{id_}"))
        except Problem as problem:
            file.state, file.trouble = "refused", problem.told


async def _why(api: Api, file: Sending) -> None:
    """Set the file's trouble from its job's first failure, with the fix."""
    try:
        told = await api.get(f"/api/jobs/{file.job}/progress", engines=False)
    except Problem as problem:
        file.trouble = problem.told
        return
    for one in told["failures"][:1]:
        file.trouble = Trouble(f"{one['title']}.", "", one["fix"], 0, str(one["reason"]))
    if file.trouble is None:
        await _doubts(api, file)


async def _doubts(api: Api, file: Sending) -> None:
    """Set the file's trouble from its first caveat, where its job has no failure."""
    try:
        told = await api.get(f"/api/jobs/{file.job}/failures", limit=1)
    except Problem as problem:
        file.trouble = problem.told
        return
    for one in [one for document in told.get("caveats") or () for one in doubts(document)][:1]:
        fix = "Look at its page on Documents, which has all that is known."
        file.trouble = Trouble(f"{title(one)}{where(one)}.", str(one["detail"]), fix, 0, str(one["kind"]))


def _take(file: Sending, job: dict[str, object]) -> None:
    pages = job["pages"]
    assert isinstance(pages, dict)
    file.state, file.pages = str(job["state"]), (pages["done"] + pages["failed"], pages["expected"])
