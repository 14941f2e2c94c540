"""Stands in for Ray's dashboard agent, of which nothing is asked here: 80 MB, and figures that every process counts.

It says in its files that nobody answers at the agent's ports, as the agent of a Ray without its optional parts does, so
that raylet and workers send it nothing. The raylet ends with it; it ends with the raylet.
"""

import os
import select
import sys

PORTS = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port")
NOBODY = b"-1"


def say_that_nobody_answers(place: str, node: str) -> None:
    """One file a port, complete as soon as it is there."""
    for name in PORTS:
        path = f"{place}/{name}_{node}"  # without pathlib: this holds 3 MB, and it would be 5
        descriptor = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, NOBODY)
        os.close(descriptor)
        os.rename(f"{path}.new", path)  # noqa: PTH104


def main() -> None:
    """Go on until the parent has ended."""
    parent = os.getppid()
    raylet = os.pidfd_open(parent)
    given = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:] if "=" in word)
    say_that_nobody_answers(given["session-dir"], given["node-id"])
    if os.getppid() == parent:  # else it had ended before
        select.select([raylet], [], [])


if __name__ == "__main__":
    main()
