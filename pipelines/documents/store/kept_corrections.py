"""Corrections that people have made, put on what is read of their pages since."""

from collections.abc import Sequence
from pathlib import Path

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Row, Transaction, load_queries
from pipelines.documents.corrections.replay import KeptCorrection, ReplayedPage, replay_corrections
from pipelines.documents.document import Box, Page, VersionId
from pipelines.documents.store.page_codec import page_from_json, page_to_json

SQL = load_queries(Path(__file__).with_suffix(".sql"))

VersionPage = tuple[VersionId, Page]


async def put_corrections(tx: Transaction, scope: Scope, pages: Sequence[VersionPage]) -> list[VersionPage]:
    """Pages of versions as people have corrected them, in their order; whoever writes them holds the corpus.

    A correction whose line is not found again is marked as such. One that was made on other bytes is not looked at.
    """
    named = {"versions": sorted({version for version, _ in pages}), "numbers": sorted({p.number for _, p in pages})}
    kept: dict[tuple[str, int], list[KeptCorrection]] = {}
    for row in await tx.all(SQL["corrections"], workspace=scope.workspace, **named):
        kept.setdefault((row["version"], row["page"]), []).append(_kept_correction(row))
    if not kept:
        return list(pages)
    corrected, told = [], []
    for version, page in pages:
        own = kept.get((version, page.number), [])
        replayed = _replay_stored(page, own) if own else ReplayedPage(page, (), ())
        corrected.append((version, replayed.page))
        told += [(id_, version, True) for id_ in replayed.placed] + [(id_, version, False) for id_ in replayed.unplaced]
    ids, versions, placed = (list(column) for column in zip(*told, strict=True)) if told else ([], [], [])
    await tx.run(SQL["note_places"], workspace=scope.workspace, ids=ids, versions=versions, placed=placed)
    return corrected


def _replay_stored(page: Page, kept: Sequence[KeptCorrection]) -> ReplayedPage:
    """From the page as it would be stored: rounded otherwise, two readings that say the same would differ."""
    return replay_corrections(page_from_json(page_to_json(page)), kept)


def _kept_correction(row: Row) -> KeptCorrection:
    box = None if row["box"] is None else Box(*row["box"])
    texts = (row["text_before"], row["text_after"])
    return KeptCorrection(str(row["id"]), row["line"], *texts, box, row["whole"])
