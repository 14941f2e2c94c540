"""The doctor's probes of what takes over: the standby of an external Postgres, the Redis that keeps Ray's cluster."""

from collections.abc import Iterable, Sequence
from typing import Any

from cluster import connect
from cluster.console.findings import GREEN, RED, YELLOW, HealthFinding
from cluster.state.db import embedded
from cluster.state.db.primary import server_conninfos
from cluster.state.db.replication import ServerState, look_at_servers
from cluster.watch.gcs_store import StoreState, look_at_store
from configs.sections import Settings

PART = "postgres standby"
HEAD, STORE = "ray head", "ray store"
NODES = "/nodes?view=summary"  # of Ray's dashboard
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


def probe_head(settings: Settings) -> Iterable[HealthFinding]:
    """Nothing of one node: it is begun anew with its head."""
    if settings.ray.address is not None:
        yield from connect.ray_dashboard(settings).get(NODES, head_findings)


def head_findings(body: Any) -> list[HealthFinding]:
    """Of Ray's nodes, with the command by which the head's agent saw its GCS run."""
    nodes = [node for node in body["data"]["summary"] if node["raylet"]["state"] == "ALIVE"]
    if len(nodes) < 2:
        return []
    commands = [node["gcs"]["cmdline"] for node in nodes if node.get("gcs")]
    if not commands:
        return [HealthFinding(HEAD, YELLOW, "its agent tells nothing of it yet", "Look again in a minute.")]
    if any(word.startswith("--redis_address=") for word in commands[0]):
        detail = f"begun anew it knows its {len(nodes)} nodes: they are kept in Redis"
        return [HealthFinding(HEAD, GREEN, detail)]
    detail = f"begun anew it knows none of its {len(nodes)} nodes: all of them, and what runs there, end with it"
    fix = "Start it with RAY_REDIS_ADDRESS (see cluster.yaml). Jobs and runs go on from Postgres in any case."
    return [HealthFinding(HEAD, YELLOW, detail, fix)]


def probe_store(settings: Settings) -> Iterable[HealthFinding]:
    """Nothing where none is named."""
    url = settings.ray.store_url
    if settings.ray.address is not None and url is not None:
        yield store_finding(look_at_store(url), shared=url == settings.redis.url)


def store_finding(store: StoreState, *, shared: bool = False) -> HealthFinding:
    """`shared`: what may be lost is kept there, too."""
    told = f"{store.name} answers, version {store.version}" if store.version else f"{store.name} answers"
    if not store.persistent:
        detail, fix = f"{told}; begun anew it is empty, and the next head knows no node", "Set `appendonly yes` there."
    elif store.evicts:
        detail, fix = f"{told}; full, it throws the cluster away", "Set `maxmemory-policy noeviction` there."
    elif shared:
        detail, fix = f"{told}; it is that of REDIS_URL, which may be emptied", "Give Ray one of its own."
    else:
        return HealthFinding(STORE, GREEN, told)
    return HealthFinding(STORE, YELLOW, detail, fix)
