"""The program that moves workspaces, started from the command line: documents stand above the cluster."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from cluster.basics.errors import AosError, Permanent
from cluster.basics.own_program import own_program

PROGRAM: Final = own_program("pipelines.documents.portable.move_program")


class MoveFailed(Permanent):
    """The workspace was not moved."""

    code = "move_failed"


class _Told(AosError):
    """An error of the program, with its own code."""

    def __init__(self, code: str, detail: str, fix: str) -> None:
        super().__init__(detail, fix=fix)
        self.code = code  # type: ignore[misc]


def run_program(
    verb: str,
    folder: Path,
    workspace: str,
    tenant: str | None,
    more: Sequence[str],
    dry_run: bool,
    shows_steps: bool,
    program: Sequence[str] = PROGRAM,
) -> dict[str, Any]:
    """Its report; steps go to where ours go. Raises the program's own error, or MoveFailed."""
    asked = [*program, verb, str(folder.absolute()), "--workspace", workspace, *more]
    asked += [] if tenant is None else ["--tenant", tenant]
    asked += ["--dry-run"] * dry_run
    done = subprocess.run(asked, stdout=subprocess.PIPE, stderr=None if shows_steps else subprocess.PIPE, check=False)
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        said = (done.stderr or b"").decode(errors="replace").strip().splitlines()[-1:]
        fix = "Run the same command again: it goes on where it was."
        raise MoveFailed("; ".join(["it ended without a report", *said]), fix=fix) from error
    if found := told.get("error"):
        raise _Told(found["code"], found["detail"], found["fix"])
    return told
