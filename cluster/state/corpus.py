"""The corpus of a workspace: everything its searches find, with a version that caches ask for."""

from pathlib import Path

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Transaction, load_queries

_SQL = load_queries(Path(__file__).with_suffix(".sql"))


async def lock_corpus(tx: Transaction, scope: Scope) -> None:
    """Whoever changes what a workspace finds does this first, so that two of them never wait for each other."""
    await tx.one(_SQL["lock"], **scope.keys)


async def mark_corpus_changed(tx: Transaction, scope: Scope) -> None:
    """What was remembered of searches is old now."""
    await tx.run(_SQL["changed"], **scope.keys)
