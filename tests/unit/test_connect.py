"""Where Ray's sockets go."""

import os
from pathlib import Path

from cluster.connect import ray_folder

HAPROXY_LIMIT = 97  # what its own parser allows


def test_haproxys_socket_always_fits() -> None:
    for length in range(5, 60):
        state = Path("/" + "s" * length)
        socket = ray_folder(state) / "haproxy" / ("f" * 56) / "admin.sock"
        assert len(os.fsencode(socket)) <= HAPROXY_LIMIT
    assert ray_folder(Path("/x")) == Path("/x/ray/s")
