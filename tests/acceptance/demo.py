"""`make demo`: start everything, read the samples, ask three questions, and check every answer and citation.

With BLOBS=s3 the samples are uploaded into a bucket of moto's server, and what was started is stopped in the end.
"""

import argparse
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from cluster import doctor, supervisor
from cluster.basics.errors import AosError, Unauthenticated
from cluster.console import job_progress, printing
from cluster.console.api import ApiClient, ApiRefusal, base_url
from cluster.console.login_tokens import CredentialsFile
from configs.sections import Settings
from configs.settings import load_settings
from tests.evals.report import ROOT, Report

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
NOT_SAMPLES = {".py", ".yaml"}  # how the samples are made, and the questions themselves
NEW_PASSWORD_BYTES = 12
INSTALLED = ROOT / ".venv" / ".runtime"  # written by `make install-runtime`
GOAL = (
    "Fresh clone in an empty folder, `make demo` ≤ 12 min on 2 cores including installation, ≤ 3 min the second time; "
    "answers right, citations open on the right page."
)
FIRST_SECONDS, AGAIN_SECONDS = 12 * 60, 3 * 60


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer: whether it says what it must, how many citations it has, and how many are right.

    Right are those whose quote stands on the page that they open; where none leads to the file and page of the answer,
    one that is missing is counted.
    """

    right: bool
    citations: int
    open: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A demonstration that came to its end; `made` says whether it was the first start of this state directory."""

    made: bool
    read: bool
    answers: Sequence[Judged]

    @property
    def right(self) -> bool:
        """Whether every sample was read, and every answer is right and opens where it says."""
        return self.read and all(one.right and one.open == one.citations for one in self.answers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; 0 when every answer is right and opens on its page, however long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--began", type=float, help="when `make` began, seconds since 1970; else now")
    parser.add_argument("--blobs", choices=("folder", "s3"), default="folder", help="where bytes are kept: s3 is moto")
    options = parser.parse_args(arguments)
    if options.blobs == "s3":
        with _bucket():
            return run(options.began, bucket=True)
    return run(options.began)


def run(given: float | None, *, bucket: bool = False) -> int:
    """The demonstration and its report; `given` is when `make` began."""
    began = time.time() if given is None else given
    console, shown = Console(), None
    settings = load_settings()
    if settings.read.nfs_base_path is None and not bucket:  # files in place would be in no bucket
        os.environ["NFS_BASE_PATH"] = str(settings.state_dir / "samples")  # what is started inherits it
        settings = load_settings()
    try:
        shown = demonstrate(settings, console)
        if not bucket:  # which is stopped at once
            say_how_to_go_on(settings, console)
    except AosError as error:
        console.print(f"error: {error}\n  fix: {error.hint}", style="red", markup=False)
    report = Report("demo-s3" if bucket else "demo")
    figures(report, shown, time.time() - began, installed=given is not None and _installed_since(given))
    report.finish(shown=False)
    return 0 if shown is not None and shown.right else 1


@contextmanager
def _bucket() -> Iterator[None]:
    """A state of its own, whose bytes lie in a bucket, until the block ends."""
    from tests.kill.uploaded_scans import bucket_settings  # moto is no part of what the product needs

    with bucket_settings("s3") as settings, tempfile.TemporaryDirectory(prefix="aos-demo-") as state:
        os.environ.update(settings, AOS_STATE_DIR=state)  # what is started inherits it
        os.environ.pop("NFS_BASE_PATH", None)
        try:
            yield
        finally:
            supervisor.stop_instance(Path(state))


def demonstrate(settings: Settings, console: Console) -> Shown:
    """Start, sign in, read and ask."""
    began = time.monotonic()
    console.rule("Starting")
    password = start(settings, console)
    server = base_url(settings.http)
    state = settings.state_dir if "AOS_STATE_DIR" in os.environ else None
    api = ApiClient(server, os.environ.get("AOS_TOKEN"), CredentialsFile.of(state))
    chosen = sign_in(api, settings, password)
    supervisor.forget_first_password(settings)
    if chosen:  # said at once: what comes after it may fail
        console.print(f"Sign in as {settings.auth.admin_email} with {chosen} (shown once).", highlight=False)
    console.rule("Reading the samples")
    read = ingest(api, settings.state_dir / "samples", console)
    console.rule("Three questions")
    answers = [ask(api, question, console) for question in questions()]
    console.rule("Done")
    seen = Shown(password is not None, read, answers)
    console.print(f"{'All answers are right' if seen.right else '[red]Not everything is right[/red]'}", end=" ")
    console.print(f"after {time.monotonic() - began:.0f} s; memory {doctor.memory_bytes(settings) / 2**30:.2f} GiB.")
    return seen


def say_how_to_go_on(settings: Settings, console: Console) -> None:
    """Where what was started is found, and how it is stopped."""
    server = base_url(settings.http)
    if settings.console.enabled:
        console.print(f"Console:   {server}/console", highlight=False)
    console.print(f"API:       {server}/docs\nAsk more:  .venv/bin/aos ask 'your question'\nStop:      make down")


def figures(report: Report, shown: Shown | None, seconds: float, *, installed: bool) -> None:
    """How long it took and what was right; nothing was shown where it broke off."""
    first = installed or (shown is not None and shown.made)
    most = FIRST_SECONDS if first else AGAIN_SECONDS
    name = "everything, installed by this run" if installed else f"everything, {'first' if first else 'another'} run"
    answers = shown.answers if shown is not None else []
    took, asked = None if shown is None else round(seconds, 1), len(questions())
    report.figure(name, took, unit="s", reference=most, goal=GOAL, holds=seconds <= most)
    if shown is not None:
        report.figure("samples read", "all" if shown.read else "not all", holds=shown.read)
    right = sum(one.right for one in answers) if answers else None
    report.figure("answers right", right, reference=asked, goal=GOAL, holds=right == asked)
    opened = sum(one.open for one in answers) if answers else None
    cited = sum(one.citations for one in answers)
    name = "citations that open on the right page"
    report.figure(name, opened, reference=cited, goal=GOAL, holds=opened == cited > 0)


def start(settings: Settings, console: Console) -> str | None:
    """Bring everything up, or wait for who does; returns the first administrator's password at the first start."""

    def report(line: str) -> None:
        console.print(f"  {line}", highlight=False, markup=False)

    password = supervisor.prepare_state(settings, report)
    supervisor.spawn_supervisor(settings, report)
    return password


def sign_in(api: ApiClient, settings: Settings, password: str | None) -> str | None:
    """Use what `aos login` or an earlier run kept, else the first password, which is changed at once."""
    if password is not None:
        api.login(settings.auth.admin_email, password)
        chosen = secrets.token_urlsafe(NEW_PASSWORD_BYTES)
        api.change_password(password, chosen)
        return chosen
    try:
        api.request("GET", "/api/jobs")
    except Unauthenticated as error:
        raise Unauthenticated(
            "the product has its users already, and nobody is signed in here",
            fix=".venv/bin/aos login (with the password that its first start showed), then make demo again",
        ) from error
    return None


def ingest(api: ApiClient, folder: Path, console: Console) -> bool:
    """Have the samples read and follow that to its end; whether all were.

    They are put into `folder` and scanned. A product that was started otherwise may scan another folder or none, and
    then they are sent to it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in samples():
        if not (folder / path.name).exists():
            shutil.copy2(path, folder / path.name)
    if may_scan(api, folder):
        started = api.ingest(str(folder), agent=None, key=None)
        job = job_progress.poll_job(lambda: api.request("GET", f"/api/jobs/{started['job_id']}"), console)
        console.print(job_progress.job_summary(job))
        return job_progress.exit_code(job) == 0
    console.print(f"  What runs may not scan {folder}: the samples are uploaded.", highlight=False, soft_wrap=True)
    read = [upload(api, path, console) for path in samples()]
    return all(read)


def may_scan(api: ApiClient, folder: Path) -> bool:
    """Whether the folder lies below what the running product may scan, which our own settings need not know."""
    try:
        base = api.request("GET", "/api/documents/folders")["base"]
    except ApiRefusal:  # there is none, or not any more
        return False
    return folder.resolve().is_relative_to(Path(base).resolve())


def upload(api: ApiClient, path: Path, console: Console) -> bool:
    """Send one file and see it read; where the product has the same bytes it is asked what became of them."""
    sent = api.request("POST", "/api/documents/upload", files={"file": (path.name, path.read_bytes())})
    if sent["job_id"] is not None:
        job_progress.poll_job(lambda: api.request("GET", f"/api/jobs/{sent['job_id']}"), console)
    document = api.request("GET", f"/api/documents/{sent['document_id']}")
    failure = document.get("failure") or {}
    said = " ".join(str(part) for part in (document["status"], failure.get("reason"), failure.get("detail")) if part)
    console.print(f"  {path.name}: {said}", markup=False, highlight=False, soft_wrap=True)
    return bool(document["status"] == "completed")


def samples() -> list[Path]:
    """The files that are read, by name."""
    return sorted(path for path in SAMPLES.iterdir() if path.is_file() and path.suffix not in NOT_SAMPLES)


def _installed_since(began: float) -> bool:
    return INSTALLED.exists() and INSTALLED.stat().st_mtime >= began


def questions() -> list[dict[str, Any]]:
    """What is asked, and where the answer stands."""
    found: list[dict[str, Any]] = yaml.safe_load((SAMPLES / "questions.yaml").read_text(encoding="utf-8"))
    return found


def ask(api: ApiClient, question: dict[str, Any], console: Console) -> Judged:
    """Print one answer; right means: it says what it must, cites the file and page, and the quote stands there."""
    body = api.request("POST", "/api/ask", json={"question": question["question"]})
    console.print(f"\n{question['question']}", style="bold", markup=False)
    console.print(printing.render_answer(body))
    cited = [c for c in body["citations"] if (c["filename"], c["page"]) == (question["file"], question["page"])]
    problems = []
    said = _plain(body["answer"] + " " + " ".join(c["quote"] for c in body["citations"]))
    if question["must_contain"] not in said:
        problems.append(f"nothing says {question['must_contain']!r}")
    if not cited:
        problems.append(f"{question['file']}, page {question['page']} is not cited")
    astray = [c["n"] for c in body["citations"] if not opens(api, c)]
    problems += [f"the quote of [{n}] is not on its page" for n in astray]
    if problems:
        console.print(f"wrong: {'; '.join(problems)}", style="red", markup=False)
    else:
        console.print("right", style="green")
    count = len(body["citations"])
    return Judged(question["must_contain"] in said, count + (not cited), count - len(astray))


def opens(api: ApiClient, citation: dict[str, Any]) -> bool:
    """Whether a citation's page can be opened and has its quote."""
    try:
        page = api.request("GET", f"/api/documents/{citation['document_id']}/pages/{citation['page']}")
    except ApiRefusal:
        return False
    return _plain(citation["quote"]) in _plain(page["text"])


def _plain(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
