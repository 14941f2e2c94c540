"""Files on their way: each is sent to the API, then followed until it can be searched or says why not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, link_to, progress_bar, state_badge
from serve_apps.ui.kit.caveats import caveat_pages, caveat_title, serious_caveats
from serve_apps.ui.kit.formats import format_count, format_size
from serve_apps.ui.kit.html import Child, SafeHtml, quiet_text, tag
from serve_apps.ui.kit.page import ConsoleContext, UploadLimits
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport

AT_ONCE: Final = 2
LOOK_SECONDS: Final = 1.0
MOST_JOBS: Final = 200
PIECES_FROM: Final = 8 * 2**20
ENDS: Final = frozenset({"completed", "partial", "failed", "cancelled"})


def too_large(limits: UploadLimits) -> SafeHtml:
    """Placeholder where console.js names files that are left out, and the limit; larger ones may go in pieces.

    Gradio refuses all files that are chosen together where one of them is too large, and says only "Error".
    """
    most, at_once = limits.at_once, None
    if limits.in_pieces is not None:
        most, at_once = limits.in_pieces, min(PIECES_FROM, limits.at_once or PIECES_FROM)
    told = {"data_most": most, "data_limit": None if most is None else format_size(most), "data_at_once": at_once}
    return tag("div", role="status", class_="doc-too-large", **told)


def resumable_uploads() -> SafeHtml:
    """Place of files that are sent in pieces; uploads.js fills it, and nothing else does."""
    hint = quiet_text("Files above 8 MiB are sent in pieces, and go on where they were after a cut.")
    listed = tag("ul", class_="doc-pieces", aria_label="Large files", hidden=True)
    return tag("div", hint, tag("div", class_="doc-pieces-said", role="status"), listed, data_pieces=True)


class FileUpload:
    """One file and how far it is."""

    def __init__(self, path: Path) -> None:
        self.path, self.name, self.bytes = path, path.name, path.stat().st_size
        self.state = "waiting"
        self.document: str | None = None
        self.job: str | None = None
        self.pages: tuple[int, int] = (0, 0)
        self.trouble: ProblemReport | None = None

    @property
    def ended(self) -> bool:
        """True once the upload, and its job, are over."""
        return self.state in ENDS or self.state in ("refused", "duplicate")


async def send_files(console: ConsoleContext, api: SessionApi, paths: Sequence[str]) -> AsyncIterator[SafeHtml]:
    """Send them, a few at once, and show every file until all have ended; whoever leaves stops what is not sent yet."""
    files = [FileUpload(Path(path)) for path in paths]
    slots = asyncio.Semaphore(AT_ONCE)
    tasks = [asyncio.create_task(_send_file(api, file, slots)) for file in files]
    try:
        while True:
            yield _uploads_view(console, files)
            if all(file.ended for file in files):
                return
            await asyncio.sleep(LOOK_SECONDS)
            await _poll_jobs(api, files)
    finally:
        for task in tasks:
            task.cancel()


def _uploads_view(console: ConsoleContext, files: Sequence[FileUpload]) -> SafeHtml:
    ended = sum(file.ended for file in files)
    rows = []
    for file in files:
        name = link_to(file.name, console.link("documents", id=file.document) if file.document else None)
        badge = state_badge("known already", "grey") if file.state == "duplicate" else state_badge(file.state)
        rows.append((name, format_size(file.bytes), badge, _upload_note(console, file)))
    done = "The file is done" if ended == 1 else f"All {ended} files are done"
    said = f"{ended} of {format_count(len(files), 'file')} done" if ended < len(files) else done
    hint = quiet_text("Keep this page open until every file is sent; what was sent goes on by itself.")
    lines = data_table(("File", "Size", "State", ""), rows, caption=said, numbers=(1,))
    bar = progress_bar(ended, len(files), "Files")
    return tag("div", bar, lines, hint if ended < len(files) else None, role="status")


def _upload_note(console: ConsoleContext, file: FileUpload) -> Child:
    if file.trouble is not None:
        fix = tag("div", tag("b", "What to try: "), file.trouble.fix) if file.trouble.fix else None
        return tag("div", file.trouble.title, " ", file.trouble.detail, fix)
    if file.state == "duplicate":
        return "The workspace has these bytes; nothing is read twice."
    job = link_to("its job", console.link("ingest", job=file.job)) if file.job else None
    if file.state in ("failed", "partial"):
        return tag("div", "Not all of it could be read: see ", job, ".")
    done, expected = file.pages
    return progress_bar(done, expected, "Pages") if expected else job


async def _send_file(api: SessionApi, file: FileUpload, slots: asyncio.Semaphore) -> None:
    async with slots:
        file.state = "sending"
        try:
            with file.path.open("rb") as bytes_:
                body = await api.post("/api/documents/upload", files={"file": (file.name, bytes_)})
        except ApiProblem as problem:
            file.state, file.trouble = "refused", problem.told
            return
        except OSError as error:
            title, fix = "The file is gone from the console.", "Choose it again."
            file.state, file.trouble = "refused", ProblemReport(title, str(error.strerror), fix, 0, "gone")
            return
    file.document, file.job = body["document_id"], body["job_id"]
    file.state = "queued" if file.job else "duplicate"


async def _poll_jobs(api: SessionApi, files: Sequence[FileUpload]) -> None:
    """Poll the state of all jobs in one request; an API error is ignored until the next poll."""
    open_ = {file.job: file for file in files if file.job and not file.ended}
    if not open_:
        return
    try:
        body = await api.get("/api/jobs", limit=min(MOST_JOBS, len(open_) + 50))
    except ApiProblem:
        return
    for job in body["items"]:
        if (file := open_.pop(job["id"], None)) is not None:
            _update_from_job(file, job)
    for file in files:
        if file.job and file.state in ("failed", "partial") and file.trouble is None:
            await _explain_failure(api, file)
    for id_, file in list(open_.items())[:5]:  # those that newer jobs pushed off the list
        try:
            _update_from_job(file, await api.get(f"/api/jobs/{id_}"))
        except ApiProblem as problem:
            file.state, file.trouble = "refused", problem.told


async def _explain_failure(api: SessionApi, file: FileUpload) -> None:
    """Set the file's trouble from its job's first failure, with the fix."""
    try:
        told = await api.get(f"/api/jobs/{file.job}/progress", engines=False)
    except ApiProblem as problem:
        file.trouble = problem.told
        return
    for one in told["failures"][:1]:
        file.trouble = ProblemReport(f"{one['title']}.", "", one["fix"], 0, str(one["reason"]))
    if file.trouble is None:
        await _explain_doubts(api, file)


async def _explain_doubts(api: SessionApi, file: FileUpload) -> None:
    """Set the file's trouble from its first caveat, where its job has no failure."""
    try:
        told = await api.get(f"/api/jobs/{file.job}/failures", limit=1)
    except ApiProblem as problem:
        file.trouble = problem.told
        return
    for one in [one for document in told.get("caveats") or () for one in serious_caveats(document)][:1]:
        title, detail = f"{caveat_title(one)}{caveat_pages(one)}.", str(one["detail"])
        fix = "Look at its page on Documents, which has all that is known."
        file.trouble = ProblemReport(title, detail, fix, 0, str(one["kind"]))


def _update_from_job(file: FileUpload, job: dict[str, object]) -> None:
    pages = job["pages"]
    assert isinstance(pages, dict)
    file.state, file.pages = str(job["state"]), (pages["done"] + pages["failed"], pages["expected"])
