"""Vectors that the product's embedder makes of real sentences and questions: what synthetic ones are judged beside."""

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from cluster.basics.scope import Scope
from cluster.models.embedding.local import LocalEmbedder
from cluster.models.ports import EmbeddingLane
from configs.sections_retrieval import EmbeddingSettings
from tests.bench.large.alternatives import TABLE, AskedCorpus
from tests.bench.large.store import Places, readers_group
from tests.bench.large.synthetic import DIMENSION, Vectors
from tests.bench.large.truth import NearestChunks
from tests.evals import irdata

LEAST_WORDS = 8  # of a sentence that is worth finding
BATCH = 2_048
MARKED = {"everything": 1, "readers 10 %": 10, "readers 1 %": 100}  # one in so many has readers of its own
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def sentences_of(texts: Sequence[str], most: int) -> list[str]:
    """Different sentences of some words, in their order."""
    found: dict[str, None] = {}
    for text in texts:
        found |= dict.fromkeys(one for one in _END.split(text) if len(one.split()) >= LEAST_WORDS)
        if len(found) >= most:
            break
    return list(found)[:most]


def sentence_vectors(evals: Path, keep: Path, most: int, questions: int) -> tuple[Vectors, Vectors]:
    """Vectors of the retrieval sets' sentences and of their questions; kept in a file, for they take minutes.

    Shapes (at most `most`, 384) and (at most `questions`, 384).
    """
    if not keep.exists():
        sets = [irdata.load(path) for path in sorted((evals / "ir").iterdir()) if path.is_dir()]
        texts = sentences_of([text.text for data in sets for text in data.documents], most)
        asked = [text for data in sets for text in list(data.questions.values())[: questions // len(sets)]]
        np.savez(keep, **asyncio.run(_embed(texts, asked)))
    held = np.load(keep)
    return held["vectors"], held["questions"]


async def _embed(texts: Sequence[str], asked: Sequence[str]) -> dict[str, Vectors]:
    embedder, parts = LocalEmbedder(EmbeddingSettings(), idle=False), []
    for at in range(0, len(texts), BATCH):
        parts.append(await embedder.embed(texts[at : at + BATCH], EmbeddingLane.BULK))
        print(f"sentences: {min(at + BATCH, len(texts))} of {len(texts)} embedded", file=sys.stderr, flush=True)
    return {"vectors": np.concatenate(parts), "questions": await embedder.embed(list(asked))}


def fill_table(admin_dsn: str, places: Places, vectors: Vectors, asked: Vectors) -> AskedCorpus:
    """Put vectors where each index copies them from, and tell what is near in each scope."""
    scope = places.scopes[None]
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        register_vector(connection)
        connection.execute("drop table if exists bench_sentences")
        connection.execute(f"create table bench_sentences (number int, embedding vector({DIMENSION}))")
        with connection.cursor().copy("copy bench_sentences from stdin with (format binary)") as copy:
            copy.set_types(["int4", "vector"])
            for row in enumerate(vectors):
                copy.write_row(row)
    truths, scopes = {}, {}
    for name, every in MARKED.items():
        near = NearestChunks(len(asked), 10)
        near.add(asked @ vectors[::every].T, np.arange(len(vectors))[::every])
        truths[name] = near.ids
        scopes[name] = Scope(scope.tenant, scope.workspace, ("*",) if every == 1 else (readers_group(every),))
    groups = " || ".join(
        f"case when number % {every} = 0 then array['{readers_group(every)}'] else '{{}}' end"
        for every in MARKED.values()
    )
    fill = (
        f"insert into {TABLE} select number::text, number::text, '{scope.tenant}', '{scope.workspace}', {groups},"
        " '{}', embedding from bench_sentences"
    )
    return AskedCorpus(fill, scopes, asked, truths, lambda found: [[int(one) for one in row] for row in found])
