"""The servers of an external Postgres as they are now: who takes writes, who follows, and how far behind."""

from dataclasses import dataclass
from typing import Any

import psycopg

from cluster.state.db.primary import server_conninfos, server_name

_ROLE = (
    "select pg_is_in_recovery(), case when pg_is_in_recovery()"
    " then coalesce(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), 0)::bigint else 0 end,"
    " case when pg_is_in_recovery() then 0"
    " else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end"
)
_FOLLOWERS = (
    "select coalesce(state, ''), coalesce(sync_state, ''),"
    " coalesce(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flush_lsn), 0)::bigint,"
    " coalesce(extract(epoch from flush_lag), 0)::float"
    " from pg_stat_replication r where state is distinct from 'backup' and application_name <> 'pg_receivewal'"
    " and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')"
    " order by sync_state desc nulls last"
)


@dataclass(frozen=True, slots=True)
class Follower:
    """A standby, as its primary sees it.

    Attributes:
        state: `streaming` where it follows; empty where this account may not see it.
        synchronous: what is acknowledged is there, too.
        bytes_behind: of the log that it has not written to its disk.
        seconds_behind: that it took lately to write what the primary had.
    """

    state: str
    synchronous: bool
    bytes_behind: int
    seconds_behind: float


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server that the connection string names.

    Attributes:
        name: `host:port`.
        role: `primary`, `standby`, or `away`.
        detail: why it is away.
        timeline: of a primary.
        unreplayed: bytes of log that a standby has received and not applied.
        followers: of a primary.
    """

    name: str
    role: str
    detail: str = ""
    timeline: int = 0
    unreplayed: int = 0
    followers: tuple[Follower, ...] = ()


def look_at_servers(conninfo: str, seconds: int = 5) -> list[ServerState]:
    """Each of them, in the order of the connection string; `conninfo` is best the owner's, who sees standbys."""
    return [_look_at(one, seconds) for one in server_conninfos(conninfo)]


def _look_at(conninfo: str, seconds: int) -> ServerState:
    name = server_name(conninfo)
    any_role: dict[str, Any] = {"target_session_attrs": "any", "connect_timeout": seconds}
    try:
        with psycopg.connect(conninfo, autocommit=True, **any_role) as connection:
            recovering, unreplayed, timeline = connection.execute(_ROLE).fetchone() or (False, 0, 0)
            if recovering:
                return ServerState(name, "standby", unreplayed=unreplayed)
            found = connection.execute(_FOLLOWERS).fetchall()
    except psycopg.Error as error:
        return ServerState(name, "away", " ".join(str(error).split()))
    followers = tuple(Follower(state, how in ("sync", "quorum"), behind, late) for state, how, behind, late in found)
    return ServerState(name, "primary", timeline=timeline, followers=followers)
