"""Packs that ship, with the packaged embedder and no model: an agent learns its track and graduates."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.basics.archive import FileBundle, pack_zip
from cluster.models.embedding.local import LocalEmbedder
from configs.sections import OcrSettings, ReadSettings
from configs.sections_retrieval import EmbeddingSettings
from pipelines.documents.extract.reader import DocumentReader
from skills.quiz import Track
from tests.fakes.campus import open_campus

pytestmark = pytest.mark.postgres
PACKS = Path(__file__).parents[2] / "skills" / "packs"
EXTRACTIVE = tuple(track for track in Track if track is not Track.INTEGRATION)


@pytest.fixture(scope="module")
def minilm() -> LocalEmbedder:
    return LocalEmbedder(EmbeddingSettings())


@pytest.fixture(scope="module")
def reader() -> Iterator[DocumentReader]:
    made = DocumentReader(ReadSettings(), OcrSettings())
    yield made
    made.close()


def package(track: Track) -> bytes:
    (folder,) = (path.parent for path in (PACKS / track).glob("*/SKILL.md"))
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return pack_zip(FileBundle(folder.name, files))


@pytest.mark.parametrize("track", EXTRACTIVE)
async def test_ac_02_an_agent_graduates_from_a_track_without_a_model(
    app_dsn: str, admin_dsn: str, tmp_path: Path, minilm: LocalEmbedder, reader: DocumentReader, track: Track
) -> None:
    """AC-01, AC-02, AC-04: import, enrol, examine; what was missed is in the message of a failure."""
    async with open_campus(app_dsn, admin_dsn, tmp_path, minilm, reader) as campus:
        sent = {"file": ("pack.skill", package(track))}
        imported = await campus.client.post(f"{campus.path}/import-skill-pack", files=sent)
        assert imported.status_code == 202, imported.text
        await campus.work()
        assert (await campus.enrol(track)).status_code == 202
        await campus.work()
        told = (await campus.client.post(f"{campus.path}/academy/quiz", timeout=300)).json()["report"]
    missed = [f"{q['question']} -> {one}" for q in told["questions"] for one in q["missed"]]
    assert told["passed"] and told["score"] >= 0.8, "\n".join([f"{told['score']:.3f}", *missed])
