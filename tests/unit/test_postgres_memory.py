"""How much memory the embedded Postgres is given for its cache."""

from pathlib import Path

import pytest

from cluster.state.db import embedded

MIB = 2**20


@pytest.mark.parametrize(("memory", "cache"), [(512, 256), (4_096, 1_024), (24_000, 2_048)])
def test_a_quarter_of_the_memory_within_limits(memory: int, cache: int) -> None:
    assert embedded.shared_buffers(memory * MIB) == cache * MIB


def test_a_container_counts_what_it_may_have(tmp_path: Path) -> None:
    """`max` is no limit, and a file that is not there says nothing."""
    limited, unlimited = tmp_path / "limited", tmp_path / "unlimited"
    limited.write_text(f"{700 * MIB}\n")
    unlimited.write_text("max\n")
    assert embedded.memory_limit((tmp_path / "none", unlimited, limited)) == 700 * MIB
    assert embedded.memory_limit((unlimited,)) == embedded.memory_limit(())


def test_a_graph_is_built_in_half_of_the_memory() -> None:
    assert embedded.graph_memory(16 * 1024 * MIB) == 8 * 1024 * MIB
