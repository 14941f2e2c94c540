"""Two real Postgres servers on loopback ports: a primary, and a standby to which nothing that is answered is lost."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from cluster.free_ports import free_port
from cluster.state.db.daemon import run_as
from cluster.state.db.embedded import POSTGRES_CONF, postgres_programs
from cluster.state.db.postgres_account import owner_of, reachable_programs

HOST = "127.0.0.1"
DATABASE = "aos"
RIGHTS = "login nosuperuser nobypassrls nocreatedb nocreaterole noreplication"
CONF = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 128MB
wal_keep_size = 256MB
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 500ms
"""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """One of them: its data, its port, and the account that runs it."""

    folder: Path
    port: int
    owner: tuple[int, int] | None
    programs: Path

    @property
    def dsn(self) -> str:
        """For its superuser, whatever role it has."""
        return f"host={HOST} port={self.port} user=postgres dbname=postgres"

    def initialise(self) -> None:
        """An empty database cluster."""
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync", *locale)
        with (self.folder / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write(POSTGRES_CONF + CONF)

    def copy(self, primary: "PostgresServer") -> None:
        """Become its standby."""
        options = ["-h", HOST, "-p", str(primary.port), "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "-N"]
        self._run("pg_basebackup", *options)

    def rewind(self, successor: "PostgresServer") -> None:
        """Of a former primary that does not run: become the standby of the one that took its place."""
        source = f"host={HOST} port={successor.port} user=postgres dbname=postgres"
        conf = (self.folder / "postgresql.conf").read_bytes()
        self._run("pg_rewind", "--source-server", source, "--write-recovery-conf", "--no-sync")
        (self.folder / "postgresql.conf").write_bytes(conf)

    def start(self) -> None:
        """Returns when it answers, as a primary or as a standby."""
        (self.folder / "postmaster.pid").unlink(missing_ok=True)  # of one that was killed
        log = self.folder / "server.log"
        self._run("pg_ctl", "-w", "-t", "60", "-l", str(log), "-o", f"-p {self.port}", "start", log=log)

    def stop(self) -> None:
        """At once; nothing is asked of anybody."""
        if self.process() is not None:
            self._run("pg_ctl", "-m", "immediate", "-w", "stop")

    def promote(self) -> None:
        """A standby takes writes from now on; returns when it does."""
        self._run("pg_ctl", "-w", "-t", "60", "promote")

    def require_standby(self) -> None:
        """Of a primary: what it answers is at a standby, too, from now on."""
        self.rows("alter system set synchronous_standby_names = '*'")
        self.rows("select pg_reload_conf()")

    def process(self) -> psutil.Process | None:
        """Its postmaster, where it runs."""
        with suppress(OSError, ValueError, IndexError, psutil.Error):
            found = psutil.Process(int((self.folder / "postmaster.pid").read_text().split()[0]))
            if found.status() != psutil.STATUS_ZOMBIE and found.name().startswith("postgres"):
                return found
        return None

    def kill(self) -> int:
        """`kill -9` of it and of all that it has begun; how many those were."""
        server = self.process()
        family = [] if server is None else [server, *server.children(recursive=True)]
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGKILL)
        psutil.wait_procs(family, timeout=20)
        return len(family)

    def rows(self, query: str, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """As its superuser."""
        with psycopg.connect(self.dsn, dbname=database, autocommit=True) as connection:
            cursor = connection.execute(query.encode())
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *options: str, log: Path | None = None) -> None:
        quiet = log or self.folder.parent / f"{program}.log" if program == "pg_ctl" else None
        run_as(self.owner, [f"{self.programs}/{program}", "-D", str(self.folder), *options], quiet)


@dataclass
class PostgresPair:
    """`primary` takes writes at first; `standby` follows it synchronously."""

    primary: PostgresServer
    standby: PostgresServer
    started: float = field(default_factory=time.monotonic)

    def url(self, user: str, *, attributes: str = "") -> str:
        """Both of them in one URL, the first primary first."""
        servers = f"{HOST}:{self.primary.port},{HOST}:{self.standby.port}"
        return f"postgresql://{user}@{servers}/{DATABASE}{attributes}"

    def follow(self, synchronous: bool = True) -> None:
        """Copy the primary, start the copy as its standby, and wait until it follows."""
        self.standby.copy(self.primary)
        self.standby.start()
        if synchronous:
            self.primary.require_standby()
        wanted = "sync" if synchronous else "async"
        deadline = time.monotonic() + 30
        while (wanted,) not in self.primary.rows("select sync_state from pg_stat_replication"):
            assert time.monotonic() < deadline, "the standby does not follow"
            time.sleep(0.05)


@contextmanager
def postgres_pair() -> Iterator[PostgresPair]:
    """A primary with the application's role and database, and a standby that is not made yet (`follow`)."""
    folder = Path(tempfile.mkdtemp(prefix="aos-pair-", dir="/tmp"))
    folder.chmod(0o711)  # the account that runs Postgres passes
    pair = None
    try:
        pair = PostgresPair(_laid_out(folder / "one"), _laid_out(folder / "two"))
        pair.primary.initialise()
        pair.primary.start()
        pair.primary.rows(f"create role aos_app {RIGHTS}", "postgres")
        pair.primary.rows(f"create database {DATABASE}", "postgres")
        yield pair
    finally:
        for server in (pair.primary, pair.standby) if pair else ():
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _laid_out(data: Path) -> PostgresServer:
    data.mkdir(mode=0o700)
    owner = owner_of(data)
    programs = postgres_programs()
    if owner is not None:
        programs = reachable_programs(programs)
        os.chown(data, *owner)
        (data.parent / "pg_ctl.log").touch()
    return PostgresServer(data, free_port(), owner, programs)
