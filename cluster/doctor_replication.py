"""The doctor's probe of an external Postgres of several servers: one takes writes, another stands by for it."""

from collections.abc import Iterable, Sequence

from cluster.console.findings import GREEN, RED, YELLOW, HealthFinding
from cluster.state.db import embedded
from cluster.state.db.primary import server_conninfos
from cluster.state.db.replication import ServerState, look_at_servers
from configs.sections import Settings

PART = "postgres standby"
FAR_BEHIND = 64 * 2**20  # bytes of log: beyond it a failover takes a while, or an asynchronous one loses much


def probe_replication(settings: Settings) -> Iterable[HealthFinding]:
    """Nothing where one server is named: whoever runs that one knows of its standbys."""
    application, owner = embedded.postgres_endpoints(settings)
    if embedded.is_external(settings.postgres) and len(server_conninfos(application)) > 1:
        whole = owner is not None and len(server_conninfos(owner)) == len(server_conninfos(application))
        yield replication_finding(look_at_servers(owner if owner and whole else application))


def replication_finding(servers: Sequence[ServerState]) -> HealthFinding:
    """Of all servers that the connection string names, as they were seen one after the other."""
    primaries = [one for one in servers if one.role == "primary"]
    told = "; ".join(map(_describe, servers))
    if len(primaries) > 1:
        fix = "Stop the one that was replaced, and make it a standby (pg_rewind): what it is told is lost."
        return HealthFinding(PART, RED, f"{len(primaries)} servers take writes: {told}", fix)
    if not primaries:
        return HealthFinding(PART, RED, f"no server takes writes: {told}", "Start the primary, or promote a standby.")
    following = [one for one in primaries[0].followers if one.state in ("streaming", "")]
    if not following:
        fix = "Begin a standby anew (pg_basebackup -R): without one nothing takes over."
        return HealthFinding(PART, YELLOW, f"no standby follows: {told}", fix)
    if all(not one.state for one in following):
        return HealthFinding(PART, GREEN, f"DATABASE_ADMIN_URL would tell how well a standby follows: {told}")
    if not any(one.synchronous for one in following):
        fix = "Set synchronous_standby_names: else the last seconds before a failover may be lost."
        return HealthFinding(PART, YELLOW, f"no standby is synchronous: {told}", fix)
    if min(one.bytes_behind for one in following) > FAR_BEHIND:
        return HealthFinding(PART, YELLOW, f"the standby is far behind: {told}", "See to its disk and its network.")
    return HealthFinding(PART, GREEN, told)


def _describe(server: ServerState) -> str:
    if server.role == "away":
        return f"{server.name} does not answer ({server.detail})"
    if server.role == "standby":
        return f"{server.name} is a standby, {server.unreplayed} bytes not applied yet"
    seen = [
        f"{one.state or 'connected'}, {'synchronous' if one.synchronous else 'asynchronous'}, {one.bytes_behind} bytes"
        f" and {one.seconds_behind:.1f} s behind"
        for one in server.followers
    ]
    whom = f"; followed by one that is {' and one that is '.join(seen)}" if seen else ""
    return f"{server.name} takes writes (timeline {server.timeline}){whom}"
