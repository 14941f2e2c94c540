"""The languages that a workspace's scans are in: stored, passed with its jobs to the readers, part of a fingerprint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope
from cluster.state.db.postgres import Database, Transaction, load_queries
from pipelines.documents import document
from pipelines.documents.ocr.languages.first_languages import AUTO
from pipelines.documents.ocr.languages.installed import package_of

SQL = load_queries(Path(__file__).with_suffix(".sql"))
MOST = 8  # each costs time on every page


class LanguageNotInstalled(Invalid):
    """OCR has no data for this language on this machine."""

    code = "language_not_installed"


class OcrLanguages:
    """Read and change them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self, scope: Scope) -> tuple[str, ...]:
        """OCR languages of the scope's workspace, the likeliest first; empty where it takes those of the settings."""
        rows = await self._database.read(scope, SQL["current"], **scope.keys)
        return tuple(rows[0]["ocr_languages"] or ()) if rows else ()

    async def change(
        self, tx: Transaction, scope: Scope, languages: Sequence[str], installed: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Read scans in these from now on, or with none of them in those of the settings.

        Returns the files that OCR has read before, as the payload of a job names them. Raises LanguageNotInstalled:
        one is not among the `installed`; with the package that brings it.
        """
        refuse_absent(languages, installed)
        await tx.run(SQL["change"], **scope.keys, languages=list(dict.fromkeys(languages)) or None)
        return await tx.all(SQL["read_by_ocr"], **scope.keys)


def refuse_absent(languages: Sequence[str], installed: Sequence[str]) -> None:
    """Raise LanguageNotInstalled where one is not among the installed; with the package that brings it."""
    if absent := [name for name in languages if name != AUTO and name not in installed]:
        packages = " ".join(package_of(name) for name in absent)
        raise LanguageNotInstalled(
            f"no data for {', '.join(absent)}; there are {', '.join(installed)}",
            fix=f"sudo apt-get install -y {packages} (on each machine that reads)",
        )


def fingerprint_in(made: str, languages: Sequence[str]) -> str:
    """The reading fingerprint of a workspace that has OCR languages of its own."""
    return document.fingerprint_parts(made, *languages) if languages else made
