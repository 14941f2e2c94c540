"""Asks Postgres, Redis and a joined cluster whether they answer: ends those of ours that hang, reports the others."""

import select
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import psycopg
import redis
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping
from redis.backoff import NoBackoff
from redis.retry import Retry

from cluster.basics.errors import Unavailable
from cluster.state.db import embedded
from cluster.watch.asking import LivenessCheck, LivenessState
from cluster.watch.hanging import SilenceTracker, is_family_starved
from configs.sections import PostgresSettings, RedisSettings, Settings

# More patience than with other parts: a checkpoint on a slow disk keeps Postgres from answering for seconds.
POSTGRES_SECONDS = 4.0
REDIS_SECONDS = 3.0
ROW_SECONDS = 1.0  # at least, from a Postgres that was found only after another one
SILENCES = 3  # in a row
PING_SECONDS = 2  # libpq's least; nothing else of this process goes on meanwhile
# A broken connection, and what Redis' client raises over replies that are none of Redis.
_NO_REDIS = (redis.RedisError, OSError, TypeError, ValueError, LookupError, AttributeError)
_REFUSALS = {Ping.OK: LivenessState.ANSWERED, Ping.REJECT: LivenessState.UNREADY}


@dataclass(frozen=True, slots=True)
class ServerProbe:
    """A question to one server.

    Attributes:
        part: named to people.
        put: asks.
        pid: of a server of ours; 0 elsewhere.
        end: ends it, where it is ours to begin anew; else it is only reported.
    """

    part: str
    put: Callable[[], LivenessCheck]
    pid: int = 0
    end: Callable[[], None] | None = None


def server_probes(settings: Settings) -> Iterable[ServerProbe]:
    """Of Postgres and Redis; an embedded one that does not run is nobody who could be asked."""
    running = embedded.servers_by_name(settings.state_dir)
    rows: tuple[tuple[str, PostgresSettings | RedisSettings, Callable[[Settings], LivenessCheck]], ...] = (
        ("postgres", settings.postgres, _ask_postgres_of),
        ("redis", settings.redis, _ask_redis_of),
    )
    for part, section, ask in rows:
        if embedded.is_external(section):
            yield ServerProbe(f"the external {part}", partial(ask, settings))
        elif (server := running.get(part)) is not None:
            end = partial(embedded.end_hung_server, server)
            yield ServerProbe(part, partial(ask, settings), server.pid, end)


def _ask_postgres_of(settings: Settings) -> LivenessCheck:
    try:
        conninfo = embedded.postgres_endpoints(settings)[0]
    except Unavailable as error:
        return LivenessCheck(LivenessState.GONE, why=str(error))
    asked = ask_postgres(conninfo, POSTGRES_SECONDS)
    if asked.reply is LivenessState.GONE and not embedded.is_external(settings.postgres):
        return LivenessCheck(postgres_refusal(conninfo), why=asked.why)
    return asked


def _ask_redis_of(settings: Settings) -> LivenessCheck:
    try:
        return ask_redis(embedded.redis_endpoint(settings), REDIS_SECONDS)
    except Unavailable as error:
        return LivenessCheck(LivenessState.GONE, why=str(error))


def ask_postgres(conninfo: str, seconds: float) -> LivenessCheck:
    """Ask `select 1` on a new connection: one of a pool would tell nothing of a server that takes no more.

    GONE where the connection is refused, whyever. psycopg itself waits for a result without a limit.
    """
    until = time.monotonic() + seconds
    try:
        with closing(psycopg.connect(conninfo, connect_timeout=max(2, int(seconds)))) as connection:
            until = max(until, time.monotonic() + ROW_SECONDS)  # another server of the URL may have kept silent
            connection.pgconn.send_query(b"select 1")
            while connection.pgconn.is_busy():
                if not select.select([connection.fileno()], [], [], max(0.0, until - time.monotonic()))[0]:
                    return LivenessCheck(LivenessState.SILENT, why=f"no row within {seconds:g} s")
                connection.pgconn.consume_input()
    except psycopg.errors.ConnectionTimeout:
        return LivenessCheck(LivenessState.SILENT, why=f"no connection within {seconds:g} s")
    except psycopg.Error as error:
        return LivenessCheck(LivenessState.GONE, why=str(error))
    return LivenessCheck(LivenessState.ANSWERED)


def postgres_refusal(conninfo: str) -> LivenessState:
    """A refused connection: UNREADY while it starts or recovers (57P03), ANSWERED for every other word of a server.

    A table of connections that is full (53300) is an answer. psycopg has no SQLSTATE of a failed connection.
    """
    answer = PGconn.ping(make_conninfo(conninfo, connect_timeout=PING_SECONDS).encode())
    return _REFUSALS.get(Ping(answer), LivenessState.GONE)


def ask_redis(url: str, seconds: float) -> LivenessCheck:
    """Ask PING; whatever a Redis answers is an answer."""
    limits = {"socket_timeout": seconds, "socket_connect_timeout": seconds}
    try:
        with redis.from_url(url, retry=Retry(NoBackoff(), 0), **limits) as client:
            client.ping()
    except redis.TimeoutError:
        return LivenessCheck(LivenessState.SILENT, why=f"no PONG within {seconds:g} s")
    except (redis.AuthenticationError, redis.BusyLoadingError, redis.ResponseError):
        return LivenessCheck(LivenessState.ANSWERED)
    except _NO_REDIS as error:
        # A reply that the client has no class for, such as too many clients, bears the word that it begins with.
        # One that hangs up before the question is out has no room for another client: it lives, too.
        hung_up = any(isinstance(one, BrokenPipeError | ConnectionResetError) for one in (error, error.__context__))
        replied = hung_up or getattr(error, "status_code", None) is not None
        return LivenessCheck(LivenessState.ANSWERED if replied else LivenessState.GONE, why=str(error))
    return LivenessCheck(LivenessState.ANSWERED)


class ServerWatch:
    """Judges replies of servers: silent several times in a row, one of ours is ended and another's is away.

    Attributes:
        away: servers that are not ours and do not answer, and why.
        unanswered: parts that left their last question unanswered.
    """

    def __init__(
        self,
        report: Callable[[str], None],
        clock: Callable[[], float],
        starved: Callable[[int], bool] = is_family_starved,
    ) -> None:
        """`starved` tells whether a server waits for something that it is not given."""
        self._report, self._clock, self._starved = report, clock, starved
        self._silences = SilenceTracker(clock, starved, SILENCES)
        self._unready: dict[tuple[str, int], float] = {}
        self.away: dict[str, str] = {}
        self.unanswered: set[str] = set()

    def judge_reply(self, probe: ServerProbe, asked: LivenessCheck) -> str:
        """The part, where it was ended now, or answers and has lost what we had begun there; else empty."""
        if self._is_well(probe, asked):
            self._silences.answered(probe.part, probe.pid)
            self.unanswered.discard(probe.part)
            if self.away.pop(probe.part, None) is not None:
                self._report(f"{probe.part} answers again")
            return ""
        self.unanswered.add(probe.part)
        if not self._silences.hangs(probe.part, probe.pid):
            return ""
        if probe.end is None:
            return self._note_away(probe, asked)
        self._silences.answered(probe.part, probe.pid)
        self._report(
            f"{probe.part} (process {probe.pid}) left {SILENCES} questions in a row unanswered ({asked.why}): "
            "it is ended, to be begun anew"
        )
        probe.end()
        return probe.part

    def _is_well(self, probe: ServerProbe, asked: LivenessCheck) -> bool:
        """True also of a server of ours that starts or recovers, for as long as a start may take, or works at it."""
        key = (probe.part, probe.pid)
        if asked.reply is LivenessState.ANSWERED:
            self._unready.pop(key, None)
            return True
        if asked.reply is not LivenessState.UNREADY or probe.end is None:
            return False
        since = self._unready.setdefault(key, self._clock())
        return self._clock() - since < embedded.START_SECONDS or self._starved(probe.pid)

    def _note_away(self, probe: ServerProbe, asked: LivenessCheck) -> str:
        if asked.reply is LivenessState.UNREADY:
            return probe.part
        if probe.part not in self.away:
            self._report(f"{probe.part} does not answer, and is not ours to begin anew: {asked.why}")
        self.away[probe.part] = asked.why
        return ""
