"""Databases for tests, each a copy of a migrated one: the next is made, and the last removed, while a test runs."""

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import make_conninfo

_numbers = itertools.count(1)  # of the process: two sets of databases may lie in one server


class SpareDatabases:
    """One database is ready ahead of whoever asks: to copy and to remove one takes as long as many a test."""

    def __init__(self, admin: str, template: str) -> None:
        """`admin` is the libpq connection string of a superuser, `template` the name of the database to copy."""
        self._admin, self._template = admin, template
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="databases")
        self._next: Future[str] = self._thread.submit(self._make)
        self._removals: list[Future[None]] = []

    @contextmanager
    def lend(self) -> Iterator[str]:
        """The name of a database of one's own; it is removed some time after the end.

        Raises `psycopg.Error` where one could not be made, or where the one before could not be removed.
        """
        ready, self._next = self._next, self._thread.submit(self._make)
        name = ready.result()
        for removal in [one for one in self._removals if one.done()]:
            self._removals.remove(removal)
            removal.result()
        try:
            yield name
        finally:
            self._removals.append(self._thread.submit(self._remove, name))

    def close(self) -> None:
        """Wait for what is under way; the databases themselves go with their server."""
        self._thread.shutdown()
        for removal in self._removals:
            removal.result()

    def _make(self) -> str:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self._admin, autocommit=True) as connection:
            connection.execute(f"create database {name} template {self._template} strategy file_copy".encode())
        with psycopg.connect(make_conninfo(self._admin, dbname=name), autocommit=True) as copied:
            copied.execute("select make_keyword_index()")
        return name

    def _remove(self, name: str) -> None:
        with psycopg.connect(self._admin, autocommit=True) as connection:
            connection.execute(f"drop database {name} with (force)".encode())
