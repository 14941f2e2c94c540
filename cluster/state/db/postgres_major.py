"""The major version of PostgreSQL that a data folder was written by, and that of the programs that would open it."""

import re
import subprocess
from pathlib import Path

from cluster.basics.errors import Permanent, Unavailable


class OtherPostgres(Permanent):
    """The data was written by another major version of PostgreSQL."""

    code = "other_postgres"


def data_major(data: Path) -> int | None:
    """Of a data folder; None where nobody has made one. Raises Unavailable where it does not say."""
    path = data / "PG_VERSION"
    if not path.exists():
        return None
    told = path.read_text(encoding="utf-8", errors="replace").strip()
    if (major := told.split(".")[0]).isdecimal():
        return int(major)
    raise Unavailable(  # made while the power went, or the disk was full
        f"{path} does not say by which PostgreSQL the data was written: {told[:20]!r}",
        fix=f"Restore a backup (`aos restore`); where nothing was ever stored, remove {data} and run `aos up`.",
    )


def programs_major(programs: Path) -> int:
    """Of the server in a folder of programs. Raises Unavailable where it does not say."""
    try:
        told = subprocess.run(
            [str(programs / "postgres"), "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"{programs}/postgres does not run: {error}", fix="Run `make install`.") from error
    found = re.search(r"\) (\d+)", told)
    if found is None:
        raise Unavailable(f"{programs}/postgres does not say its version: {told.strip()}", fix="Run `make install`.")
    return int(found[1])


def refuse_other_major(data: Path, programs: Path) -> None:
    """Raises OtherPostgres where the programs cannot open the data; nothing is written."""
    wrote, opens = data_major(data), programs_major(programs)
    if wrote is not None and wrote != opens:
        raise OtherPostgres(
            f"{data} was written by PostgreSQL {wrote}, and this version brings PostgreSQL {opens}",
            fix=f"With the version that wrote it, of PostgreSQL {wrote}: `aos down`, then `aos upgrade --dump FOLDER`."
            " With this one: `aos upgrade --load FOLDER`, then `aos up`. Nothing was changed.",
        )
