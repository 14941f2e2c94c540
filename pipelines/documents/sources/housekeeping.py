"""Housekeeping files that programs and systems leave on shares: every scan skips and counts them."""

import re
from typing import Final

LOCK_FILES: Final = "lock_files"
SYSTEM_FILES: Final = "system_files"
TEMPORARY_FILES: Final = "temporary_files"
SYSTEM_FOLDERS: Final = "system_folders"
HIDDEN: Final = "hidden"

# Office's owner files, LibreOffice's locks, and those of Access and AutoCAD.
_LOCKS: Final = re.compile(r"~\$.*|\.~lock\..*#|.*\.(laccdb|dwl2?)", re.IGNORECASE | re.DOTALL)
# Finder, AppleDouble, Explorer and its thumbnails, the icon of a folder.
_SYSTEM: Final = re.compile(
    r"\.ds_store|\._.*|\.localized|\.apdisk|desktop\.ini|thumbs\.db(:encryptable)?|ehthumbs(_vista)?\.db|icon\r",
    re.IGNORECASE | re.DOTALL,
)
_TEMPORARY: Final = re.compile(r"~.*\.tmp|~wr[ald]\d+.*|\.fuse_hidden.*|\.nfs[0-9a-f]{8,}", re.IGNORECASE | re.DOTALL)
# Bins, snapshots and indexes of Windows, macOS, Synology, QNAP, NetApp and ext4.
_FOLDERS: Final = re.compile(
    r"\$recycle\.bin|recycler|system volume information|@eadir|@recycle|#recycle|@tmp|#snapshot|@snapshot|~snapshot|"
    r"\.snapshots?|\.trash(es|-\d+)?|\.recycle|\.spotlight-v100|\.fseventsd|\.temporaryitems|\.appledouble|\.appledb|"
    r"\.documentrevisions-v100|network trash folder|temporary items|__macosx|lost\+found",
    re.IGNORECASE,
)


def housekeeping_kind(name: str) -> str | None:
    """The kind of housekeeping that the name of a file or folder, without its path, tells; None for what is read."""
    kinds = {SYSTEM_FOLDERS: _FOLDERS, LOCK_FILES: _LOCKS, SYSTEM_FILES: _SYSTEM, TEMPORARY_FILES: _TEMPORARY}
    hidden = HIDDEN if name.startswith(".") else None
    return next((kind for kind, names in kinds.items() if names.fullmatch(name)), hidden)
