"""`aos export`: texts as JSON lines, a searchable PDF, Markdown, tables as Parquet, or a whole workspace that moves."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from cluster.basics.errors import Invalid, NotFound
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession
from cluster.console.commands.documents.move_commands import DryRun, Tenant, export_workspace

TABLES = ("pages", "words", "blocks", "cells", "chunks")
INCOMPLETE = 3  # exit code where pages of the PDF were not read
_ID = re.compile(r"[0-9a-f]{32}")

Received = Callable[[int, int | None], None]


def export(
    context: CommandContext,
    workspace: Annotated[
        str | None, typer.Argument(help="With --to: this workspace as a whole, by name or id. Run it on the server.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="FOLDER", help="A folder of its own.")] = None,
    tenant: Tenant = None,
    dry_run: DryRun = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file; else standard output, or the document's own name.")
    ] = None,
    pdf: Annotated[
        str | None, typer.Option("--pdf", metavar="DOCUMENT", help="A scan as a PDF that can be searched: id or name.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="DOCUMENT", help="A document as Markdown, by id or name.")
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FOLDER", help="Pages, words, cells and chunks as Parquet.")
    ] = None,
    document: Annotated[str | None, typer.Option(help="Of --parquet: this document alone, by id or name.")] = None,
    vectors: Annotated[bool, typer.Option("--vectors", help="Of --parquet: chunks with their vectors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write what was read: every document's text as JSON lines, or one of the forms that the options name.

    With --pdf: exit 0 if every page was read, 3 if some were not.

    A whole workspace (WORKSPACE --to FOLDER) is written as Parquet and bytes with a signed manifest, for `aos import`
    and `aos merge`: documents with all versions, pages, words, tables, corrections, chunks, vectors, names and
    relations, readers, agents, golden sets. Cut off, the same command goes on; run again later, it writes what has
    changed. Exit 3 where documents stay out or lack their bytes. Never exported: passwords, tokens, keys, credentials
    and what is bound to them, connections of models, sources, webhooks, schedules, skills' code, extracted fields,
    policies, holds, conversations, runs, answers, usage, the audit trail.

    Example: aos export -o documents.jsonl

    Example: aos export --pdf minutes.pdf -o searchable.pdf

    Example: aos export --parquet tables --vectors

    Example: aos export claims --to /mnt/claims
    """
    if workspace is not None or to is not None:
        named = (workspace, to, (output, pdf, markdown, parquet, document), vectors)
        export_workspace(context, *_workspace_form(*named), tenant, dry_run, as_json)
        return
    if tenant is not None or dry_run:
        raise Invalid("--tenant and --dry-run go with WORKSPACE --to FOLDER")
    _require_one_form((pdf, markdown, parquet), parquet, vectors or document is not None, output)
    session: CommandSession = context.obj
    if pdf is not None:
        _export_pdf(session, pdf, output, as_json)
    elif markdown is not None:
        _export_markdown(session, markdown, output, as_json)
    elif parquet is not None:
        _export_parquet(session, parquet, document, vectors, as_json)
    else:
        _export_lines(session, output, as_json)


def _workspace_form(
    workspace: str | None, folder: Path | None, forms: Sequence[object], vectors: bool
) -> tuple[str, Path]:
    """Raises Invalid: one of the two is missing, or another export was asked for, too."""
    if workspace is None or folder is None:
        raise Invalid("a whole workspace needs its name and a folder", fix="aos export WORKSPACE --to FOLDER")
    if vectors or any(form is not None for form in forms):
        raise Invalid("--to is an export of its own", fix="Leave the other options out.")
    return workspace, folder


def _require_one_form(forms: Sequence[object], parquet: Path | None, is_narrowed: bool, output: Path | None) -> None:
    """Raises Invalid: the options contradict each other."""
    if sum(form is not None for form in forms) > 1:
        raise Invalid("--pdf, --markdown and --parquet are different exports", fix="Give one of them.")
    if parquet is None and is_narrowed:
        raise Invalid("--document and --vectors are options of --parquet", fix="Add --parquet FOLDER.")
    if parquet is not None and output is not None:
        raise Invalid("--parquet writes a folder, not a file", fix="Leave --output out.")


def _export_lines(session: CommandSession, output: Path | None, as_json: bool) -> None:
    """Every document's text and metadata, a document a line."""
    file = sys.stdout if output is None else output.open("w", encoding="utf-8")
    count = 0
    for item in session.api.documents():
        file.write(json.dumps(item | {"pages": session.api.pages(item["id"])}, ensure_ascii=False) + "\n")
        count += 1
    if output is not None:
        file.close()
        session.plain({"documents": count, "file": str(output)}, as_json, f"{count} documents in {output}")


def _export_pdf(session: CommandSession, wanted: str, output: Path | None, as_json: bool) -> None:
    found = _find_document(session, wanted)
    target = output or Path(f"{Path(found['filename']).stem}.searchable.pdf")
    with _progress(session, target.name, as_json) as received:
        told = session.api.save_file(_path_of(found), target, received, format="pdf")
    counts: JSON = json.loads(told or "{}")
    lines = [f"{target}: {counts.get('layered', 0)} of {counts.get('pages', '?')} pages with words that were read"]
    lines += [f"{counts['native']} have a text of their own"] * bool(counts.get("native"))
    lines += [f"{counts['empty']} hold no text"] * bool(counts.get("empty"))
    lines += [f"{counts['unread']} were not read, and nothing on them is found"] * bool(counts.get("unread"))
    lines += [f"{counts['unplaced']} have words whose places are not known"] * bool(counts.get("unplaced"))
    lines += [f"{counts['doubled']} keep another program's invisible text, too"] * bool(counts.get("doubled"))
    session.plain({"document_id": found["id"], "file": str(target), **counts}, as_json, "; ".join(lines))
    if counts.get("unread"):
        raise typer.Exit(INCOMPLETE)


def _export_markdown(session: CommandSession, wanted: str, output: Path | None, as_json: bool) -> None:
    found = _find_document(session, wanted)
    if output is None and not as_json:
        sys.stdout.write(session.api.download(f"{_path_of(found)}?format=markdown").decode())
        return
    target = output or Path(f"{Path(found['filename']).stem}.md")
    with _progress(session, target.name, as_json) as received:
        session.api.save_file(_path_of(found), target, received, format="markdown")
    session.plain({"document_id": found["id"], "file": str(target)}, as_json, f"{found['filename']} in {target}")


def _export_parquet(session: CommandSession, folder: Path, wanted: str | None, vectors: bool, as_json: bool) -> None:
    path = "/api/documents/export" if wanted is None else _path_of(_find_document(session, wanted))
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for table in TABLES:
        target = folder / f"{table}.parquet"
        with _progress(session, target.name, as_json) as received:
            session.api.save_file(
                path, target, received, format="parquet", table=table, vectors=vectors and table == "chunks"
            )
        files.append({"table": table, "file": str(target), "bytes": target.stat().st_size})
    shown = "\n".join(f"{one['file']}: {one['bytes']:,} bytes" for one in files)
    session.plain({"files": files}, as_json, shown)


def _find_document(session: CommandSession, wanted: str) -> JSON:
    """The document with this id or, if there is but one, of this name. Raises NotFound or Invalid."""
    if _ID.fullmatch(wanted):
        return session.api.request("GET", f"/api/documents/{wanted}")
    found: list[JSON] = []
    params: dict[str, Any] = {"search": wanted[:200], "limit": 1000}
    for item in session.api.request("GET", "/api/documents/", params=params)["items"]:
        found += [item] * (item["filename"] == wanted)
    if not found:
        raise NotFound(f"no document is called {wanted}", fix="See `aos documents list`.")
    if len(found) > 1:
        raise Invalid(f"{len(found)} documents are called {wanted}", fix="Give the id, from `aos documents list`.")
    return found[0]


def _path_of(document: JSON) -> str:
    return f"/api/documents/{document['id']}/export"


@contextmanager
def _progress(session: CommandSession, name: str, quiet: bool) -> Iterator[Received]:
    """A bar for a file that comes: waiting at first, then by its bytes."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    hidden = quiet or not session.out.is_terminal
    with Progress(*columns, console=session.out, disable=hidden, transient=True) as progress:
        task = progress.add_task(name, total=None)
        yield lambda count, total: progress.update(task, completed=count, total=total)
