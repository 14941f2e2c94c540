"""The settings of what agents can do: which kinds of skills are on, what each may reach, how scripts are fenced in."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from configs.section import Section


class SkillSettings(Section):
    """The kinds of skills that are on. What can run commands on this machine is off until it is named here.

    `off` names kinds, and single skills, that are refused. `shell_allow`: programs that shell skills may start, by
    absolute path. `mcp_commands`: programs that may be started as MCP servers. `ansible_dir`: where playbooks are.
    `docker_url`: an engine, as docker itself writes it. `sqlite_dirs`: folders whose files of SQLite credentials may
    name. `signers`: Ed25519 public keys in base64; with `signed_only` a package that none of them signed is refused.
    """

    off: tuple[str, ...] = ("shell", "docker", "ansible")
    shell_allow: tuple[str, ...] = ()
    mcp_commands: tuple[str, ...] = ()
    ansible_dir: Path | None = None
    docker_url: str | None = None
    sqlite_dirs: tuple[Path, ...] = ()
    signers: tuple[str, ...] = ()
    signed_only: bool = False
    result_bytes: int = Field(256_000, ge=1_000)


Wall = Literal[
    "user", "pid", "net", "mount", "ipc", "uts", "cgroup", "seccomp", "no_new_privs", "capabilities", "rlimits"
]


class SandboxSettings(Section):
    """The fence around Python that people or models wrote.

    `imports`: modules a script may import, `*` for the whole standard library; a courtesy to authors, not the wall.
    `untrusted_without`: layers of isolation that may be missing while untrusted code still runs. `warm`: interpreters
    that wait isolated for the next call; `at_once`: scripts that run at the same time.
    """

    seconds: float = Field(5, gt=0, le=600)
    memory_mb: int = Field(256, ge=64)
    output_bytes: int = Field(256_000, ge=1_000)
    result_bytes: int = Field(1_000_000, ge=1_000)
    files: int = Field(16, ge=8)
    processes: int = Field(1, ge=1)
    imports: tuple[str, ...] = (
        "json",
        "re",
        "math",
        "datetime",
        "itertools",
        "collections",
        "statistics",
        "hashlib",
        "base64",
    )
    untrusted_without: tuple[Wall, ...] = ()
    warm: int = Field(2, ge=0, le=64)
    at_once: int = Field(4, ge=1, le=256)


class ScheduleSettings(Section):
    """The scheduler: seconds between looks for due jobs, jobs at a time, and seconds for each."""

    poll_seconds: float = Field(60, gt=0)
    at_once: int = Field(3, ge=1, le=100)
    seconds: float = Field(300, gt=0)
    lease_seconds: float = Field(30, gt=0)


class AcademySettings(Section):
    """Examinations of agents. `pass_mark`: the share of expected facts, where a quiz names none of its own."""

    pass_mark: float = Field(0.8, gt=0, le=1)
    questions_at_once: int = Field(2, ge=1, le=32)
