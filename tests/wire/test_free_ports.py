"""Ports that are given away together are distinct: Ray refuses to start where two of its parts get the same."""

from cluster.free_ports import QUIET_PORTS, free_ports


def test_ports_given_away_together_are_distinct_and_none_of_those_taken() -> None:
    taken = range(20_000, 29_900)  # a hundred are left: by chance alone some of fifty would be alike
    found = free_ports(50, taken)
    assert len(set(found)) == 50 and set(found) <= set(QUIET_PORTS) - set(taken)
