"""`make demo`: start everything, read the samples, ask three questions, and check every answer and citation."""

import os
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from cluster import doctor, supervisor
from cluster.basics.errors import AosError, Unauthenticated
from cluster.console import show, watch
from cluster.console.api import Api, base_url
from cluster.console.credentials import Credentials
from configs.sections import Settings
from configs.settings import load

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
NOT_SAMPLES = {".py", ".yaml"}  # how the samples are made, and the questions themselves
NEW_PASSWORD_BYTES = 12


def main() -> int:
    """Run the demonstration; 0 when every answer is right and every citation opens on its page."""
    console, began = Console(), time.monotonic()
    settings = load()
    if settings.read.nfs_base_path is None:
        os.environ["NFS_BASE_PATH"] = str(settings.state_dir / "samples")  # what is started inherits it
        settings = load()
    console.rule("Starting")
    try:
        password = start(settings, console)
        server = base_url(settings.http)
        state = settings.state_dir if "AOS_STATE_DIR" in os.environ else None
        api = Api(server, os.environ.get("AOS_TOKEN"), Credentials.of(state))
        chosen = sign_in(api, settings, password)
        supervisor.told(settings)
        console.rule("Reading the samples")
        job = ingest(api, settings, console)
        console.rule("Three questions")
        wrong = [question for question in questions() if not ask(api, question, console)]
    except AosError as error:
        console.print(f"error: {error}\n  fix: {error.hint}", style="red", markup=False)
        return 1
    console.rule("Done")
    right = not wrong and watch.exit_code(job) == 0
    console.print(f"{'All answers are right' if right else '[red]Not everything is right[/red]'}", end=" ")
    console.print(f"after {time.monotonic() - began:.0f} s; memory {doctor.memory_bytes(settings) / 2**30:.2f} GiB.")
    if chosen:
        console.print(f"Sign in as {settings.auth.admin_email} with {chosen} (shown once).", highlight=False)
    if settings.console.enabled:
        console.print(f"Console:   {server}/console", highlight=False)
    console.print(f"API:       {server}/docs\nAsk more:  .venv/bin/aos ask 'your question'\nStop:      make down")
    return 0 if right else 1


def start(settings: Settings, console: Console) -> str | None:
    """Bring everything up; returns the first administrator's password at the first start."""

    def report(line: str) -> None:
        console.print(f"  {line}", highlight=False, markup=False)

    password = supervisor.prepare(settings, report)
    if supervisor.find(settings.state_dir) is None:
        supervisor.spawn(settings, report)
    return password


def sign_in(api: Api, settings: Settings, password: str | None) -> str | None:
    """Use what `aos login` or an earlier run kept, else the first password, which is changed at once."""
    if password is not None:
        api.login(settings.auth.admin_email, password)
        chosen = secrets.token_urlsafe(NEW_PASSWORD_BYTES)
        api.change_password(password, chosen)
        return chosen
    try:
        api.request("GET", "/api/jobs")
    except Unauthenticated as error:
        raise Unauthenticated(str(error), fix=".venv/bin/aos login, then make demo again") from error
    return None


def ingest(api: Api, settings: Settings, console: Console) -> dict[str, Any]:
    """Put the samples into the state directory and follow their job to its end."""
    folder = settings.state_dir / "samples"
    folder.mkdir(parents=True, exist_ok=True)
    for path in SAMPLES.iterdir():
        if path.is_file() and path.suffix not in NOT_SAMPLES and not (folder / path.name).exists():
            shutil.copy2(path, folder / path.name)
    started = api.ingest(str(folder), agent=None, key=None)
    job = watch.follow(lambda: api.request("GET", f"/api/jobs/{started['job_id']}"), console)
    console.print(watch.summary(job))
    return job


def questions() -> list[dict[str, Any]]:
    """What is asked, and where the answer stands."""
    found: list[dict[str, Any]] = yaml.safe_load((SAMPLES / "questions.yaml").read_text(encoding="utf-8"))
    return found


def ask(api: Api, question: dict[str, Any], console: Console) -> bool:
    """Print one answer; right means: it says what it must, cites the file and page, and the quote stands there."""
    body = api.request("POST", "/api/ask", json={"question": question["question"]})
    console.print(f"\n{question['question']}", style="bold", markup=False)
    console.print(show.answer(body))
    cited = [c for c in body["citations"] if (c["filename"], c["page"]) == (question["file"], question["page"])]
    problems = []
    if question["must_contain"] not in _plain(body["answer"] + " " + " ".join(c["quote"] for c in body["citations"])):
        problems.append(f"nothing says {question['must_contain']!r}")
    if not cited:
        problems.append(f"{question['file']}, page {question['page']} is not cited")
    for citation in body["citations"]:
        page = api.request("GET", f"/api/documents/{citation['document_id']}/pages/{citation['page']}")
        if _plain(citation["quote"]) not in _plain(page["text"]):
            problems.append(f"the quote of [{citation['n']}] is not on its page")
    if problems:
        console.print(f"wrong: {'; '.join(problems)}", style="red", markup=False)
    else:
        console.print("right", style="green")
    return not problems


def _plain(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
