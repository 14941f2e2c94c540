"""Engine operations by Docker's own library, with answers cut to the fields shown (Engine API 1.44 and later)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from skills.framework.program_output import OutputHead

if TYPE_CHECKING:
    from docker import APIClient

_Asks = Callable[["APIClient", Mapping[str, Any], int], dict[str, Any]]


def _list_containers(client: "APIClient", given: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"containers": list(map(_container_row, client.containers(all=bool(given.get("all", False)))))}


def _container_row(one: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name.lower(): one.get(name) for name in ("Image", "State", "Status", "Created")}  # seconds since 1970
    ports = [_port_mapping(port) for port in one.get("Ports") or []]
    return {"id": one["Id"][:12], "name": (one.get("Names") or [""])[0].lstrip("/"), **shown, "ports": ports}


def _read_logs(client: "APIClient", given: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The last lines, read until there are `most` bytes: a single line may be larger than all memory."""
    kept = OutputHead.of(most)
    of = {"stdout": True, "stderr": True, "timestamps": True, "stream": True, "follow": False}
    for piece in client.logs(given["container"], tail=int(given.get("lines", 100)), **of):
        if kept.take(piece):
            break
    return {"logs": kept.text} | ({"cut": True} if kept.cut else {})


def _inspect_container(client: "APIClient", given: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Values of variables and labels, and the arguments of the command, are left out: passwords stand there."""
    whole = client.inspect_container(given["container"])
    how, host, state = whole.get("Config") or {}, whole.get("HostConfig") or {}, whole.get("State") or {}
    networks = (whole.get("NetworkSettings") or {}).get("Networks") or {}
    shown = ("Status", "Running", "ExitCode", "OOMKilled", "Error", "StartedAt", "FinishedAt")
    return {
        "id": whole["Id"][:12],
        "name": whole.get("Name", "").lstrip("/"),
        "image": how.get("Image"),
        "program": whole.get("Path"),
        "user": how.get("User"),
        "created": whole.get("Created"),
        "restarts": whole.get("RestartCount"),
        "restart_policy": (host.get("RestartPolicy") or {}).get("Name"),
        "state": {name: state[name] for name in shown if name in state},
        "health": (state.get("Health") or {}).get("Status"),
        "environment": [name.partition("=")[0] for name in how.get("Env") or []],
        "labels": sorted(how.get("Labels") or {}),
        "mounts": [
            {"type": one.get("Type"), "source": one.get("Source"), "to": one.get("Destination"), "rw": one.get("RW")}
            for one in whole.get("Mounts") or []
        ],
        "networks": {name: (one or {}).get("IPAddress") for name, one in networks.items()},
        "privileged": host.get("Privileged"),
    }


def _list_images(client: "APIClient", given: Mapping[str, Any], most: int) -> dict[str, Any]:
    rows = [(one["Id"], one.get("RepoTags") or [], one.get("Size"), one.get("Created")) for one in client.images()]
    return {"images": [dict(zip(("id", "tags", "bytes", "created"), row, strict=True)) for row in rows]}


def _container_stats(client: "APIClient", given: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Shares as `docker stats` counts them: of one processor, and of memory without the file cache."""
    one = client.stats(given["container"], stream=False)
    now, before, memory = one.get("cpu_stats") or {}, one.get("precpu_stats") or {}, one.get("memory_stats") or {}
    used = _cpu_nanoseconds(now) - _cpu_nanoseconds(before)
    passed = now.get("system_cpu_usage", 0) - before.get("system_cpu_usage", 0)
    cache = (memory.get("stats") or {}).get("inactive_file", 0)
    networks = (one.get("networks") or {}).values()
    return {
        "cpu_percent": round(100 * used / passed * (now.get("online_cpus") or 1), 2) if passed > 0 else None,
        "memory_bytes": memory["usage"] - cache if "usage" in memory else None,
        "memory_limit_bytes": memory.get("limit"),
        "processes": (one.get("pids_stats") or {}).get("current"),
        "received_bytes": sum(net.get("rx_bytes", 0) for net in networks),
        "sent_bytes": sum(net.get("tx_bytes", 0) for net in networks),
    }


def _restart_container(client: "APIClient", given: Mapping[str, Any], most: int) -> dict[str, Any]:
    client.restart(given["container"], timeout=int(given.get("grace", 10)))
    return {"restarted": given["container"]}


def _stop_container(client: "APIClient", given: Mapping[str, Any], most: int) -> dict[str, Any]:
    client.stop(given["container"], timeout=int(given.get("grace", 10)))
    return {"stopped": given["container"]}


def _prune_unused(client: "APIClient", given: Mapping[str, Any], most: int) -> dict[str, Any]:
    what = given["what"]
    # Of images those without a name only: an unused one with a name may be wanted tomorrow.
    which = {"filters": {"dangling": True}} if what == "images" else {}
    answer = getattr(client, f"prune_{what}")(**which)
    return {"removed": answer.get(f"{what.capitalize()}Deleted") or [], "bytes": answer.get("SpaceReclaimed", 0)}


# By the name in a skill's options.
ASKS: Mapping[str, _Asks] = MappingProxyType(
    {
        "containers": _list_containers,
        "logs": _read_logs,
        "inspect": _inspect_container,
        "images": _list_images,
        "stats": _container_stats,
        "restart": _restart_container,
        "stop": _stop_container,
        "prune": _prune_unused,
    }
)


def _port_mapping(one: Mapping[str, Any]) -> str:
    inner = f"{one.get('PrivatePort')}/{one.get('Type')}"
    return f"{one.get('IP')}:{one['PublicPort']}->{inner}" if one.get("PublicPort") else inner


def _cpu_nanoseconds(cpu: Mapping[str, Any]) -> int:
    return int((cpu.get("cpu_usage") or {}).get("total_usage", 0))
