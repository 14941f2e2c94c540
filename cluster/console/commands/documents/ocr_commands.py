"""`aos ocr`: the languages that a workspace's scans are in."""

from typing import Annotated, Any

import typer

from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession

PATH = "/api/ocr/languages"

ocr = typer.Typer(no_args_is_help=True, help="In which languages scans are read.")
Names = Annotated[list[str] | None, typer.Argument(help="By Tesseract's names, the likeliest first: deu eng.")]


@ocr.command("languages")
def languages(
    context: CommandContext,
    names: Names = None,
    default: Annotated[bool, typer.Option("--default", help="Take those of the settings again.")] = False,
    read_again: Annotated[bool, typer.Option("--read-again", help="Read what OCR has read before again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show them, or with names change them. Example: aos ocr languages deu eng --read-again"""
    if not names and not default:
        _print_languages(context.obj, context.obj.api.request("GET", PATH), as_json)
        return
    body: dict[str, Any] = {"languages": [] if default else names, "read_again": read_again}
    _print_languages(context.obj, context.obj.api.request("PUT", PATH, json=body), as_json)


def _print_languages(session: CommandSession, found: JSON, as_json: bool) -> None:
    read = found["languages"] or found["default"]
    whose = "of this workspace" if found["languages"] else "of the settings"
    lines = [f"Scans are read in {', '.join(read)} ({whose}).", f"Installed: {', '.join(found['installed'])}."]
    if found["job_id"]:
        lines.append(f"What OCR has read is read again; follow it: aos jobs watch {found['job_id']}")
    session.plain(found, as_json, "\n".join(lines))
