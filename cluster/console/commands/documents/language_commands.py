"""`aos languages`: Tesseract's data of languages on this machine, listed and installed."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cluster.console import language_data
from cluster.console.commands.documents.document_commands import AsJson, CommandContext
from configs.settings import load_settings

languages = typer.Typer(
    no_args_is_help=True, help="Data that OCR has of languages on this machine; each machine that reads needs its own."
)
Names = Annotated[list[str], typer.Argument(help="By Tesseract's names: deu rus chi_sim.")]
Source = Annotated[
    Path | None, typer.Option("--from", help="A folder with their .traineddata, where apt cannot reach its packages.")
]


@languages.command("list")
def list_languages(context: CommandContext, as_json: AsJson = False) -> None:
    """Show the languages that there is data for, and where it lies. Example: aos languages list"""
    ocr = load_settings().ocr
    found = language_data.list_data(ocr.tesseract_data)
    lines = [f"Data of {len(found.languages)} languages: {', '.join(found.languages) or 'none'}."]
    lines += [f"They lie in {' and '.join(place for place in (found.own, found.program) if place)}."]
    if not found.orientation:
        lines.append("Script and orientation cannot be told: sudo apt-get install -y tesseract-ocr-osd")
    lines.append(f"Scans are read in {', '.join(ocr.languages)}, unless a workspace has its own (aos ocr languages).")
    context.obj.plain({**asdict(found), "read": list(ocr.languages)}, as_json, "\n".join(lines))


@languages.command("install")
def install_languages(
    context: CommandContext,
    names: Names,
    source: Source = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the data of languages here: Debian's packages by apt, or files of a folder.

    The folder they are copied into is that of ocr.tesseract_data (AOS_OCR_TESSERACT_DATA), or else the program's own.

    Example: aos languages install deu rus

    Example: aos languages install tha --from /media/usb --dry-run
    """
    own = load_settings().ocr.tesseract_data
    plan = language_data.plan_installation(names, source, own)
    if not dry_run:
        language_data.carry_out(plan)
    body = {"languages": list(plan.languages), "steps": plan.steps, "done": not dry_run}
    verb = "Would be done" if dry_run else "Done"
    shown = "\n".join([f"{verb}:", *(f"  {step}" for step in plan.steps)]) if plan.languages else "All are installed."
    context.obj.plain(body, as_json, shown)
