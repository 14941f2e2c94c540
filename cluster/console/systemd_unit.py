"""The systemd unit that starts the product at boot: its text, and what installs or removes it."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.basics.errors import AosError, Conflict, Invalid

NAME = "aos.service"
SYSTEM_FOLDER = Path("/etc/systemd/system")
USER_FOLDER = Path(".config/systemd/user")  # below the home
ANSWER_SECONDS = 300.0
Command = tuple[str, ...]

# Scripts of skills run behind a fence of their own, which needs user namespaces, mounts and a /proc of which nothing is
# hidden. So what would take one of them away is missing: RestrictNamespaces, ProtectKernelTunables, ProtectKernelLogs,
# ProtectControlGroups, ProtectProc, PrivateDevices (GPUs, too), SystemCallFilter. MemoryDenyWriteExecute ends torch.
ANYWHERE = ("NoNewPrivileges=yes", "LockPersonality=yes", "RestrictRealtime=yes", "RestrictSUIDSGID=yes")
# A user's manager may mount nothing.
AS_SYSTEM = ("ProtectSystem=full", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK")


class UnitFailed(AosError):
    """systemd did not do what it was asked for."""

    code = "unit_failed"


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """A unit to be: `account` runs it; None for the unit of one user's own manager, whose home is `home`."""

    program: Path
    state_dir: Path
    env_file: Path | None
    account: str | None
    home: Path

    @property
    def path(self) -> Path:
        """The unit's file."""
        return (self.home / USER_FOLDER if self.account is None else SYSTEM_FOLDER) / NAME

    def systemctl(self, *words: str) -> Command:
        """The command that asks the manager in charge."""
        return ("systemctl", *(("--user",) if self.account is None else ()), *words)


def unit_text(plan: UnitPlan) -> str:
    """The unit's file.

    `aos` reads the file of settings itself: systemd's EnvironmentFile quotes by other rules, and one reader is enough.

    Raises Invalid: a path that no unit can hold.
    """
    if set(str(plan.program)) & set("\"'\\$"):
        raise Invalid(f"{plan.program}: systemd starts no program of such a path")
    environment = {"AOS_STATE_DIR": plan.state_dir}
    if plan.env_file is not None:
        environment["AOS_ENV_FILE"] = plan.env_file
    lines = [
        "[Unit]",
        "Description=AOS: documents, cited answers and agents",
        *(() if plan.account is None else ("Wants=network-online.target", "After=network-online.target")),
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=exec",
        *(() if plan.account is None else (f"User={_plain(plan.account)}",)),
        *(f"Environment={_quoted(f'{name}={path}')}" for name, path in environment.items()),
        f"ExecStart={_quoted(str(plan.program))} up --foreground",
        "Restart=on-failure",
        "RestartSec=5",
        "# The supervisor ends its parts itself; what is left of them after that is killed.",
        "KillMode=mixed",
        "TimeoutStopSec=120",
        "# The kernel may end a reader for memory; the others go on.",
        "OOMPolicy=continue",
        "TasksMax=infinity",
        "LimitNOFILE=65536",
        "UMask=0077",
        *ANYWHERE,
        *(() if plan.account is None else AS_SYSTEM),
        "",
        "[Install]",
        f"WantedBy={'default.target' if plan.account is None else 'multi-user.target'}",
    ]
    return "\n".join(lines) + "\n"


def install_commands(plan: UnitPlan) -> tuple[Command, ...]:
    """Run after the file is written."""
    return plan.systemctl("daemon-reload"), plan.systemctl("enable", "--now", NAME)


def install_unit(plan: UnitPlan, run: Callable[[Command], None], *, runs_already: bool) -> None:
    """Write the unit, start it now and at each boot.

    `runs_already`: somebody started the product by hand, which a second start would refuse.

    Raises Conflict for that; UnitFailed where the file cannot be written, or as `run`.
    """
    if runs_already and not plan.path.exists():
        raise Conflict(f"it already runs for {plan.state_dir}", fix="`aos down` stops it; then install again.")
    text = unit_text(plan)
    try:
        plan.path.parent.mkdir(parents=True, exist_ok=True)
        plan.path.write_text(text, encoding="utf-8")
        plan.path.chmod(0o644)
    except OSError as error:
        raise UnitFailed(f"{plan.path}: {error.strerror}", fix="Run it with sudo, or give --user.") from error
    for command in install_commands(plan):
        run(command)


def uninstall_commands(plan: UnitPlan) -> tuple[Command, Command]:
    """Run before the file is removed, and after it."""
    return plan.systemctl("disable", "--now", NAME), plan.systemctl("daemon-reload")


def uninstall_unit(plan: UnitPlan, run: Callable[[Command], None]) -> bool:
    """Stop the product and remove the unit; data stays. Returns whether there was one; raises as `install_unit`."""
    if not plan.path.exists():
        return False
    before, after = uninstall_commands(plan)
    run(before)
    try:
        plan.path.unlink(missing_ok=True)
    except OSError as error:
        raise UnitFailed(f"{plan.path}: {error.strerror}", fix="Run it with sudo, or give --user.") from error
    run(after)
    return True


def run_systemctl(command: Sequence[str]) -> None:
    """Ask systemd; raises UnitFailed where there is none, or it refuses, with what it said."""
    if shutil.which(command[0]) is None:
        raise UnitFailed("there is no systemctl on this machine", fix="`aos service print` shows the unit.")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnitFailed(f"{' '.join(command)}: no answer", fix=f"journalctl -u {NAME}") from error
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit status {done.returncode}"
        raise UnitFailed(f"{' '.join(command)}: {said}", fix=f"journalctl -u {NAME} says more.")


def _plain(word: str) -> str:
    if not word or any(letter in " \t\n\"'\\%$" for letter in word):
        raise Invalid(f"{word!r} is no account's name")
    return word


def _quoted(text: str) -> str:
    """A word of a unit: in quotes, with systemd's own marks made harmless."""
    if any(ord(letter) < 32 for letter in text):
        raise Invalid(f"{text!r}: no unit can hold this path")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'
