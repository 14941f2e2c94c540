"""What is tried again, and what nobody tries again because it was."""

import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.retry import call_with_retries, waits_of


@pytest.mark.parametrize(("tried_again", "calls"), [(False, 4), (True, 1)])
async def test_attempts_do_not_multiply(tried_again: bool, calls: int) -> None:
    made, slept = [], []

    async def call() -> None:
        made.append(1)
        error = Unavailable("away")
        error.tried_again = tried_again
        raise error

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with pytest.raises(Unavailable):
        await call_with_retries(call, waits=waits_of(4), sleep=sleep)
    assert len(made) == calls and slept == [2.0, 4.0, 8.0][: calls - 1]


def test_waits_grow_to_fifteen_seconds() -> None:
    assert waits_of(1) == () and waits_of(6) == (2.0, 4.0, 8.0, 15.0, 15.0)
