"""What Postgres tells of work while something is done: the words on the channel that workers listen on."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

SECONDS = 0.3  # after what was done; it is told with the commit


@contextmanager
def told_work(dsn: str) -> Iterator[list[str]]:
    """The list is filled when the block ends."""
    words: list[str] = []
    with psycopg.connect(dsn, autocommit=True) as listener:
        listener.execute("listen aos_work")
        yield words
        words += [notice.payload for notice in listener.notifies(timeout=SECONDS)]
