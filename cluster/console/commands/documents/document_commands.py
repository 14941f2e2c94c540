"""The commands that talk to the HTTP API: login, search, ask, jobs, documents."""

import json
import sys
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.prompt import Prompt
from rich.text import Text

from cluster.basics.errors import AosError, Invalid, NotFound
from cluster.console import job_progress, printing
from cluster.console.api import JSON, ApiClient
from cluster.console.document_analytics_view import document_analytics_view
from cluster.console.provider_login import sign_in_by_browser

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
JobId = Annotated[str, typer.Argument(help="The job's id, from `aos jobs list`.")]
DocumentId = Annotated[str, typer.Argument(help="The document's id, from `aos documents list`.")]
AT_ONCE = 1_000  # rows of one request
FIRST_ADMINISTRATOR = "admin@orchestrator.local"
REASONS = 20  # documents that are named, and as many pages and files that failed
JOB_COLUMNS = ("id", "kind", "state", "phase", "waits", "pages", "documents", "outcome", "created_at")
DOCUMENT_COLUMNS = ("id", "filename", "status", "caveats", "page_count", "upload_date")

jobs = typer.Typer(no_args_is_help=True, help="List, follow, cancel, resume and retry jobs.")
documents = typer.Typer(no_args_is_help=True, help="List, show, read and delete documents.")


@dataclass(frozen=True, slots=True)
class CommandSession:
    """The context of every command: the API client and the console to print to."""

    api: ApiClient
    out: Console

    def print(self, body: Any, as_json: bool, shown: object) -> None:
        """The body as JSON, or what a person reads."""
        if as_json:
            sys.stdout.write(json.dumps(body, indent=1, ensure_ascii=False) + "\n")
        else:
            self.out.print(shown)

    def plain(self, body: Any, as_json: bool, shown: str) -> None:
        """As `print`, for texts that are not ours: brackets in them are no markup."""
        self.print(body, as_json, Text(shown))

    def print_items(self, path: str, columns: tuple[str, ...], as_json: bool, **params: Any) -> None:
        """A list of the API as a table of these columns."""
        found = self.api.request("GET", path, params=params)
        self.print(found, as_json, printing.rows_table(found["items"], columns))

    def find_id(self, path: str, wanted: str) -> str | None:
        """The id of the first in a list of the API that has this id or name."""
        skip, total = 0, 1
        while skip < total:
            found = self.api.request("GET", path, params={"skip": skip, "limit": AT_ONCE})
            for one in found["items"]:
                if wanted in (one["id"], one["name"]):
                    return str(one["id"])
            skip, total = skip + AT_ONCE, found["total"]
        return None

    def require_id(self, path: str, wanted: str, what: str, fix: str) -> str:
        """As `find_id`; raises NotFound where there is none."""
        if (found := self.find_id(path, wanted)) is None:
            raise NotFound(f"no {what} is called {wanted}", fix=fix)
        return found

    def aside(self, line: str, end: str = "\n") -> None:
        """A remark beside the answer."""
        self.out.print(Text(line, style="dim"), end=end, highlight=False)


class CommandContext(typer.Context):
    """Typer's context of a command, whose `obj` is the session."""

    obj: CommandSession


def login(
    context: CommandContext,
    email: Annotated[str | None, typer.Option(help="Who signs in: admin@orchestrator.local where left out.")] = None,
    password: Annotated[str | None, typer.Option(help="Asked for when left out.")] = None,
    new_password: Annotated[str | None, typer.Option(help="The new one, when it must be changed.")] = None,
    sso: Annotated[
        str | None, typer.Option(metavar="PROVIDER", help="Sign in by this provider, in a browser on this machine.")
    ] = None,
    directory: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sign in by this directory, with the password that it knows.")
    ] = None,
) -> None:
    """Sign in and keep the tokens (mode 0600).

    Example: aos login --email admin@orchestrator.local, aos login --sso corp, or aos login --directory corp --email ann
    """
    if sso is not None:
        _login_by_provider(context.obj, sso)
        return
    if directory is not None:
        _login_by_directory(context.obj, directory, email, password)
        return
    email = email or FIRST_ADMINISTRATOR
    password = password or Prompt.ask("Password", password=True, console=context.obj.out)
    if context.obj.api.login(email, password).get("must_change_password"):
        if new_password is None and not sys.stdin.isatty():
            raise Invalid("the password must be changed first", fix="Give --new-password.")
        new_password = new_password or Prompt.ask("It must be changed. New password", password=True)
        context.obj.api.change_password(password, new_password)
    context.obj.out.print(f"Signed in at {context.obj.api.url} as {email}.")


def _login_by_directory(session: CommandSession, name: str, login: str | None, password: str | None) -> None:
    _require_provider(session, name, "directory")
    login = login or Prompt.ask("User name or e-mail", console=session.out)
    password = password or Prompt.ask("Password", password=True, console=session.out)
    answer = session.api.login(login, password, name)
    session.out.print(f"Signed in at {session.api.url} as {answer['email']}.")


def _require_provider(session: CommandSession, name: str, kind: str) -> JSON:
    """What the API says of it. Raises NotFound: with those that there are."""
    known = {one["name"]: one for one in session.api.providers() if one.get("kind", "oidc") == kind}
    if name not in known:
        fix = f"There are: {', '.join(known)}." if known else "auth.providers_file declares them; there are none here."
        raise NotFound(f"{'provider' if kind == 'oidc' else kind} {name}", fix=fix)
    return known[name]


def _login_by_provider(session: CommandSession, name: str) -> None:
    start = _require_provider(session, name, "oidc")["start"]
    signed_in = sign_in_by_browser(session.api.url, start, lambda address: session.aside(f"Sign in here: {address}"))
    answer = session.api.redeem(signed_in.code, signed_in.verifier)
    session.out.print(f"Signed in at {session.api.url} as {answer['email']}.")


def search(
    context: CommandContext,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, max=100)] = 10,
    doc_type: Annotated[str | None, typer.Option(help="Only this type of file, such as pdf.")] = None,
    source_file: Annotated[str | None, typer.Option(help="Only this file.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only what is linked to this agent.")] = None,
    quote: Annotated[str | None, typer.Option(help="must: only passages with every phrase in quotes.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each stage of the search did.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search by keyword and meaning; every hit names its page.

    Example: aos search "termination notice" --limit 5
    """
    filters = {"doc_type": doc_type, "source_file": source_file}
    body: JSON = {"query": query, "limit": limit, "filters": {k: v for k, v in filters.items() if v}}
    if agent:
        body["agent_id"] = agent
    if quote:
        body["quote"] = quote
    if explain:
        body["explain"] = True
    found = context.obj.api.request("POST", "/api/documents/search", json=body)
    shown = None if as_json else printing.render_explain(found) if explain else printing.hits_table(found)
    context.obj.print(found, as_json, shown)


def ask(
    context: CommandContext,
    question: Annotated[str, typer.Argument(help="A question about the documents.")],
    agent: Annotated[str | None, typer.Option(help="Only what is linked to this agent.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer from the documents, with citations.

    Example: aos ask "When does the lease end?"
    """
    body = {"question": question} | ({"agent_id": agent} if agent else {})
    found = context.obj.api.request("POST", "/api/ask", json=body)
    context.obj.print(found, as_json, None if as_json else printing.render_answer(found))


@jobs.command("list")
def list_jobs(context: CommandContext, as_json: AsJson = False) -> None:
    """Every job, newest first, and what it waits for. Example: aos jobs list"""
    context.obj.print_items("/api/jobs", JOB_COLUMNS, as_json)


@jobs.command("show")
def show_job(context: CommandContext, job_id: JobId, as_json: AsJson = False) -> None:
    """Counts of one job, why it waits, and which documents failed or may be wrong. Example: aos jobs show ID"""
    found = context.obj.api.request("GET", f"/api/jobs/{job_id}")
    context.obj.print(found, as_json, job_progress.job_summary(found))
    if not as_json:
        _print_reasons(context.obj, found)


@jobs.command("watch")
def watch_job(context: CommandContext, job_id: JobId, as_json: AsJson = False) -> None:
    """Follow a job to its end: exit 0 complete, 3 missing or doubtful parts, 1 failed. Example: aos jobs watch ID"""
    context.obj.api.request("GET", f"/api/jobs/{job_id}")  # a server that does not run is told at once, not waited for
    follow_job(context.obj, job_id, as_json)


@jobs.command("cancel")
def cancel_job(context: CommandContext, job_id: JobId, as_json: AsJson = False) -> None:
    """Stop a job; what is done stays. Example: aos jobs cancel ID"""
    _change_job(context.obj, job_id, "cancel", as_json)


@jobs.command("resume")
def resume_job(context: CommandContext, job_id: JobId, as_json: AsJson = False) -> None:
    """Go on with what is not done. Example: aos jobs resume ID"""
    _change_job(context.obj, job_id, "resume", as_json)


@jobs.command("retry")
def retry_job(
    context: CommandContext,
    job_id: JobId,
    degraded: Annotated[
        bool, typer.Option("--degraded", help="Pages that OCR read badly or had no data for, and no others.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Do the failed pages again. Example: aos jobs retry ID

    Example, once a language is installed or a model is back: aos jobs retry ID --degraded
    """
    _change_job(context.obj, job_id, "retry?degraded=true" if degraded else "retry", as_json)


@documents.command("list")
def list_documents(
    context: CommandContext,
    limit: Annotated[int | None, typer.Option(min=1)] = None,
    parent: Annotated[str | None, typer.Option(help="Only what came out of this archive or letter.")] = None,
    sort: Annotated[str | None, typer.Option(help="newest, most_used or never_used (by answers).")] = None,
    as_json: AsJson = False,
) -> None:
    """Every document you may see. Example: aos documents list --limit 20, or --sort never_used"""
    found = list(context.obj.api.documents(limit, parent, sort))
    columns = (*DOCUMENT_COLUMNS, "rag_query_count") if sort else DOCUMENT_COLUMNS
    context.obj.print({"items": found, "total": len(found)}, as_json, printing.rows_table(found, columns))


@documents.command("analytics")
def document_analytics(context: CommandContext, as_json: AsJson = False) -> None:
    """Figures of the documents you may see: states, kinds, sizes, use in answers. Example: aos documents analytics

    For operators also by source, for administrators of the tenant also by workspace.

    Example, for scripts: aos documents analytics --json | jq .success_rate
    """
    found = context.obj.api.request("GET", "/api/documents/analytics")
    context.obj.plain(found, as_json, "\n".join(document_analytics_view(found)))
    for name in ("sources", "workspaces"):
        if found[name] and not as_json:
            columns = ("name", "documents", "completed", "failed", "chunks", "storage_bytes", "uploads_24h")
            context.obj.out.print(printing.rows_table(found[name], columns))


@documents.command("show")
def show_document(context: CommandContext, document_id: DocumentId, as_json: AsJson = False) -> None:
    """One document's metadata. Example: aos documents show ID"""
    found = context.obj.api.request("GET", f"/api/documents/{document_id}")
    shown = found | {"caveats": "\n".join(printing.caveat_lines(found))}
    pairs = [{"key": key, "value": str(value)} for key, value in shown.items()]
    context.obj.print(found, as_json, printing.rows_table(pairs, ("key", "value")))


@documents.command("content")
def document_content(context: CommandContext, document_id: DocumentId, as_json: AsJson = False) -> None:
    """One document's text, pages parted by form feeds. Example: aos documents content ID > text.txt"""
    found = context.obj.api.pages(document_id)
    if as_json:
        context.obj.print({"document_id": document_id, "pages": found}, True, None)
    else:
        sys.stdout.write("\f\n".join(str(page["text"]) for page in found) + "\n")


@documents.command("delete")
def delete_document(context: CommandContext, document_id: DocumentId, as_json: AsJson = False) -> None:
    """Delete a document with its pages and vectors. Example: aos documents delete ID"""
    found = context.obj.api.request("DELETE", f"/api/documents/{document_id}")
    context.obj.print(found or {"id": document_id, "status": "deleted"}, as_json, f"Deleted {document_id}.")


def follow_job(session: CommandSession, job_id: str, as_json: bool) -> NoReturn:
    """Show a job to its end, with what is missing or doubtful and why; the exit code says how it ended."""
    job = job_progress.poll_job(lambda: session.api.request("GET", f"/api/jobs/{job_id}"), session.out, quiet=as_json)
    session.print(job, as_json, job_progress.job_summary(job))
    if not as_json:
        _print_reasons(session, job)
    raise typer.Exit(job_progress.exit_code(job))


def _print_reasons(session: CommandSession, job: JSON) -> None:
    """Print why documents of the job failed or are doubtful: the first of them."""
    if job["state"] not in ("partial", "failed"):
        return
    try:
        found = session.api.request("GET", f"/api/jobs/{job['id']}/failures?limit={REASONS}")
    except AosError as error:  # how the job ended is known, and stays the exit code
        session.aside(f"Why could not be asked: {error}")
        return
    session.out.print(job_progress.failure_reasons(found))
    if max(len(found["items"]), len(found.get("caveats") or ())) >= REASONS:
        session.aside(f"The first {REASONS} of each. The others: GET /api/jobs/{job['id']}/failures?skip={REASONS}")


def _change_job(session: CommandSession, job_id: str, verb: str, as_json: bool) -> None:
    found = session.api.request("POST", f"/api/jobs/{job_id}/{verb}")
    session.print(found, as_json, f"Job {job_id}: {found.get('state', found.get('status', verb))}")


@documents.command("reprocess")
@documents.command("process")
def reprocess_document(
    context: CommandContext,
    document_id: DocumentId,
    pages: Annotated[
        str | None, typer.Option(help="Only these, such as 3,7-9; the others are taken over unread.")
    ] = None,
    strategy: Annotated[str | None, typer.Option(help="Of OCR: cascade, tesseract, paddle, easyocr or vision.")] = None,
    languages: Annotated[
        str | None, typer.Option(help="Of scans, by Tesseract's names, such as deu,eng; see `aos ocr languages`.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of a text, such as cp1250, from now on; auto: as its bytes say.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until the job ends.")] = False,
    key: Annotated[str | None, typer.Option("--idempotency-key", help="The same key never makes a second job.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read a document's file again, cut and embed it: a new version, until which readers keep the one they have.

    With --wait: exit 0 complete, 3 something missing or doubtful, 1 failed.

    Example: aos documents reprocess ID --pages 3,7-9 --strategy tesseract --languages deu,eng --wait

    Example: aos documents reprocess ID --encoding cp1250 --wait
    """
    asked = {"pages": pages, "strategy": strategy, "languages": languages, "encoding": encoding}
    body = {name: value for name, value in asked.items() if value}
    headers = {"Idempotency-Key": key} if key else {}
    path = f"/api/documents/{document_id}/process"
    started = context.obj.api.request("POST", path, json=body, headers=headers)
    print_started(context.obj, started, wait, as_json)


def print_started(session: CommandSession, started: JSON, wait: bool, as_json: bool) -> None:
    """A job that has begun, or with `wait` its end."""
    if wait:
        follow_job(session, started["job_id"], as_json)
    shown = f"Job {started['job_id']} {started['status']}. Follow it: aos jobs watch {started['job_id']}"
    session.print(started, as_json, shown)
