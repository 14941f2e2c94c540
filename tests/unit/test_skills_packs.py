"""The packages that ship: they build, they are taken, and every fact of their quizzes stands where the quiz says."""

import re
from pathlib import Path

import pytest

from cluster.basics.archive import FileBundle, pack_zip
from cluster.basics.errors import NotFound
from skills.framework.builtin import shipped_names
from skills.framework.manifest import Kind
from skills.framework.package import SkillPackage, read_package
from skills.framework.skill_store import SkillStore
from skills.marking import says
from skills.quiz import Quiz, Track, parse_quiz, shipped_quiz

PACKS = Path(__file__).parents[2] / "skills" / "packs"
FOLDERS = {path.parent.parent.name: path.parent for path in sorted(PACKS.glob("*/*/SKILL.md"))}
EXPECTED = {
    "presales": ("presales-agent", {"rfp-templates.md", "objection-handling.md", "roi-models.md"}),
    "finance": ("finance-agent", {"financial-models.md", "compliance-frameworks.md"}),
    "infrastructure": (
        "infra-agent",
        {
            "runbooks/incident-response.md",
            "runbooks/disk-full.md",
            "runbooks/patching.md",
            "runbooks/backup-recovery.md",
            "architecture-guides/capacity-planning.md",
            "architecture-guides/high-availability.md",
        },
    ),
    "legal": ("legal-agent", {"contract-templates.md", "regulatory-guides.md"}),
}


def package(track: str) -> SkillPackage:
    folder = FOLDERS[track]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return read_package(pack_zip(FileBundle(folder.name, files)))


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("track", EXPECTED)
def test_sk_08_the_four_packages_hold_what_they_are_to_hold(track: str) -> None:
    """SK-08, AC-02: names, references and a prompt; each reference is a document of some length."""
    name, references = EXPECTED[track]
    found = package(track)
    assert (found.manifest.name, set(found.references), found.ignored) == (name, references, ())
    assert found.manifest.kind is Kind.INTERNAL and len(found.manifest.text) > 500
    SkillStore.check(found.manifest)
    for path, content in found.references.items():
        assert len(content.decode().split()) > 400, path
        assert not re.search(r"TODO|TBD|lorem ipsum", content.decode(), re.IGNORECASE), path


def test_sk_08_packages_are_imported_and_not_in_the_catalogue() -> None:
    """SK-08: no agent has one before somebody imports it."""
    assert set(FOLDERS) == set(EXPECTED)
    assert shipped_names().isdisjoint(name for name, _ in EXPECTED.values())


@pytest.mark.parametrize("track", EXPECTED)
def test_ac_02_every_fact_of_a_quiz_stands_in_the_passage_and_the_passage_in_the_reference(track: str) -> None:
    """AC-02, SK-08: what an agent is asked can be learnt from its package, and each question from one place."""
    references = {path.rpartition("/")[2]: flat(text.decode()) for path, text in package(track).references.items()}
    quiz = shipped_quiz(Track(track))
    assert 12 <= len(quiz.questions) <= 20 and {one.source for one in quiz.questions} == set(references)
    for one in quiz.questions:
        assert references[one.source].count(flat(one.passage)) >= 1, f"{one.question}: {one.passage}"
        for forms in one.expected():
            assert any(says(one.passage, form) for form in forms), f"{one.question}: {forms}"
    assert len({one.question for one in quiz.questions}) == len(quiz.questions)


def test_x_18_the_integration_track_brings_its_own_documents() -> None:
    """X-18: a template that is a quiz, and no package and no quiz that would pass for one."""
    made = parse_quiz((PACKS / "integration" / "quiz-template.yaml").read_bytes())
    assert isinstance(made, Quiz) and made.track is Track.INTEGRATION
    for one in made.questions:
        assert all(any(says(one.passage, form) for form in forms) for forms in one.expected())
    with pytest.raises(NotFound):
        shipped_quiz(Track.INTEGRATION)


def test_a_quiz_is_not_among_the_documents() -> None:
    """An agent that had the questions with their answers among its documents would pass without the references."""
    for track in EXPECTED:
        assert not any(b"pass_mark" in content for content in package(track).references.values())
