"""Old office formats (DOC, PPT): converted by LibreOffice where it is installed, then read as their successors."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from olefile import OleFileIO

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.extract.office.slides import open_pptx
from pipelines.documents.extract.office.zip_package import DAMAGED
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument
from pipelines.documents.extract.word.docx import open_docx
from pipelines.documents.guarded_child import more_memory
from pipelines.documents.sources.sniff import CONVERTER

_LOCKED_WORD: Final = 0x01  # fEncrypted, [MS-DOC] 2.5.2
# No macro of a stranger runs, and nothing is fetched that a document points to.
_PROFILE: Final = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
</oor:items>
"""


def open_doc(path: Path, context: ExtractionContext) -> OpenedDocument:
    """A document of Word 97 to 2003, as the DOCX that it becomes."""
    return _open_converted(path, context, "doc", "docx", open_docx)


def open_ppt(path: Path, context: ExtractionContext) -> OpenedDocument:
    """A presentation of PowerPoint 97 to 2003, as the PPTX that it becomes."""
    return _open_converted(path, context, "ppt", "pptx", open_pptx)


def _open_converted(
    path: Path,
    context: ExtractionContext,
    old: str,
    new: str,
    open_new: Callable[[Path, ExtractionContext], OpenedDocument],
) -> OpenedDocument:
    """Convert in a folder of its own, with a profile of its own: two conversions beside each other share nothing.

    Raises Unreadable: ENCRYPTED, UNSUPPORTED without LibreOffice, CORRUPT where it makes nothing of the file.
    """
    if _is_locked(path):
        raise Unreadable(FailureReason.ENCRYPTED, "the office file is locked with a password")
    program = shutil.which(CONVERTER)
    if program is None:
        raise Unreadable(FailureReason.UNSUPPORTED, f"LibreOffice is not installed here; save it as {new.upper()}")
    with tempfile.TemporaryDirectory(prefix="aos-office-") as place:
        folder = Path(place)
        settings, source = folder / "profile" / "user", folder / f"source.{old}"
        settings.mkdir(parents=True)
        (settings / "registrymodifications.xcu").write_text(_PROFILE, encoding="utf-8")
        source.symlink_to(path.absolute())
        profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
        line = [program, profile, "--headless", "--norestore", "--convert-to", new, "--outdir", place, str(source)]
        with more_memory(context.ocr.memory_bytes):  # of the program: it has what this process has
            quiet = subprocess.DEVNULL
            subprocess.run(line, stdin=quiet, stdout=quiet, stderr=quiet, check=False)
        made = folder / f"source.{new}"
        if not made.is_file():  # it ends with 0 whatever became of it
            raise Unreadable(FailureReason.CORRUPT, "LibreOffice makes nothing of it")
        return open_new(made, context)


def _is_locked(path: Path) -> bool:
    try:
        with OleFileIO(str(path)) as ole:
            if ole.exists("WordDocument"):
                head = ole.openstream("WordDocument").read(12)
                return len(head) == 12 and bool(head[11] & _LOCKED_WORD)
            return bool(ole.exists("EncryptedSummary"))
    except DAMAGED as error:
        raise Unreadable(FailureReason.CORRUPT, "a damaged office file") from error
