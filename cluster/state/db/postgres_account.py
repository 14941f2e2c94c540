"""The account that runs Postgres where we are root, which Postgres refuses to be; no folder is opened for it.

The folders above the data may be shut: the account is put into the data's own folder, which it knows by no other name
than HERE. Programs that it cannot reach are copied to where it can.
"""

import os
import pwd
import subprocess
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from stat import S_IMODE, S_IXUSR
from tempfile import mkdtemp

from cluster.basics.errors import Unavailable
from cluster.state.db.daemon import is_passable

SYSTEM_USER = "aos"
HERE = "/proc/self/cwd"
COPIES = Path("/var/lib/aos")


def owner_of(data: Path) -> tuple[int, int] | None:
    """User and group that run Postgres, made when needed; None when this process is not root and runs it itself."""
    if os.geteuid() != 0:
        return None
    if (data / "PG_VERSION").exists() and data.stat().st_uid != 0:
        return data.stat().st_uid, data.stat().st_gid
    try:
        account = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        useradd = ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin"]
        subprocess.run([*useradd, SYSTEM_USER], check=True, capture_output=True)
        account = pwd.getpwnam(SYSTEM_USER)
    return account.pw_uid, account.pw_gid


def reachable_programs(programs: Path, copies: Path = COPIES) -> Path:
    """The programs, or a copy of them where another account may not pass the folders above (of /root, say)."""
    if is_passable(programs / "postgres"):
        return programs
    known = f"{programs} {(programs / 'postgres').stat().st_mtime_ns}"
    made = copies / f"postgres-{sha256(known.encode()).hexdigest()[:10]}"
    try:
        if not made.exists():
            copies.mkdir(parents=True, exist_ok=True)
            copies.chmod(0o755)
            unfinished = Path(mkdtemp(dir=copies))
            copytree(programs.parent, unfinished / "p", symlinks=True)
            _open_for_all(unfinished)
            unfinished.rename(made)
    except OSError as error:
        raise Unavailable(
            f"the account {SYSTEM_USER} cannot reach {programs}, and no copy can be made: {error}",
            fix="Install where every account may read, or run as another account than root.",
        ) from error
    return made / "p" / programs.name


def _open_for_all(folder: Path) -> None:
    """Everybody may read what is in it, and run what its owner may, with whatever umask it was installed."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(S_IMODE(mode) | (0o555 if mode & S_IXUSR else 0o444))
