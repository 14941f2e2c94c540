"""Classes of documents: by the rules, for every version, and by hand; a sweep that is stopped loses nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from pipelines.documents.privacy.answer_masks import AnswerMask
from pipelines.documents.privacy.answer_rules import AnswerRule
from pipelines.documents.privacy.document_classes import DocumentClasses, UnknownClass
from serve_apps.governance.classification import EVERY, ClassificationProcess
from tests.fakes.corpus import Book, Passage, Sheet, load, open_generation
from tests.fakes.http import Api, Clock, Office, make_parts, open_office, serve

TEXTS = {
    "plain.txt": "Nothing stands here.",
    "words.txt": "This page is confidential.",
    "card.txt": "Charge 4111 1111 1111 1111 for it.",
    "secret.txt": "Strictly confidential: it concerns nobody else.",
}
WANTED = {"plain.txt": None, "words.txt": "confidential", "card.txt": "restricted", "secret.txt": "restricted"}


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def classes(api: Api) -> DocumentClasses:
    return api.parts.governance.classes


def fill(admin_dsn: str, office: Office, texts: dict[str, str], **more: str) -> list[str]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        generation = open_generation(connection, office.scope)
        books = [Book(name, [Passage(text)], sheets=[Sheet(text)], **more) for name, text in texts.items()]  # type: ignore[arg-type]
        return load(connection, office.scope, generation, books)


def found(admin_dsn: str) -> dict[str, str | None]:
    with psycopg.connect(admin_dsn) as connection:
        return dict(connection.execute("select filename, classification from documents").fetchall())


async def test_rules_decide_by_words_and_finds_and_once(
    classes: DocumentClasses, office: Office, admin_dsn: str
) -> None:
    fill(admin_dsn, office, TEXTS)
    assert await classes.left(office.scope) == len(TEXTS)
    assert await classes.sweep(office.scope) == len(TEXTS)
    assert found(admin_dsn) == WANTED
    assert await classes.sweep(office.scope) == 0 and await classes.left(office.scope) == 0
    with psycopg.connect(admin_dsn) as connection:  # what readers see is another version by now
        connection.execute("update documents set classified_with = 'other' where filename = 'plain.txt'")
    assert await classes.sweep(office.scope) == 1


async def test_a_sweep_that_is_stopped_goes_on_with_what_is_left(
    classes: DocumentClasses, office: Office, admin_dsn: str
) -> None:
    many = {f"{number}.txt": "This is confidential." for number in range(60)}
    fill(admin_dsn, office, many)
    sweep = asyncio.create_task(classes.sweep(office.scope))
    await asyncio.sleep(0.15)
    sweep.cancel()
    await asyncio.wait([sweep])
    left = await classes.left(office.scope)
    assert await classes.sweep(office.scope) == left
    assert set(found(admin_dsn).values()) == {"confidential"} and await classes.left(office.scope) == 0


async def test_the_highest_counts_and_a_hands_word_stays(
    classes: DocumentClasses, office: Office, admin_dsn: str, api: Api
) -> None:
    ids = dict(zip(TEXTS, fill(admin_dsn, office, TEXTS), strict=True))
    await classes.sweep(office.scope)
    async with api.parts.database.transaction(office.scope) as tx:
        assert await classes.highest(tx, office.scope, [*ids.values()]) == "restricted"
        assert await classes.highest(tx, office.scope, [ids["plain.txt"], ids["words.txt"]]) == "confidential"
        assert await classes.highest(tx, office.scope, [ids["plain.txt"]]) is None
        assert await classes.set(tx, office.scope, ids["secret.txt"], "public") == "restricted"
        with pytest.raises(UnknownClass):
            await classes.set(tx, office.scope, ids["secret.txt"], "no such class")
    assert await classes.sweep(office.scope) == 0 and found(admin_dsn)["secret.txt"] == "public"


async def test_another_tenants_documents_are_not_touched(
    classes: DocumentClasses, office: Office, admin_dsn: str, api: Api
) -> None:
    stranger = open_office(admin_dsn)
    (theirs,) = fill(admin_dsn, stranger, {"theirs.txt": "It is confidential."})
    await classes.sweep(office.scope)
    assert found(admin_dsn) == {"theirs.txt": None}
    async with api.parts.database.transaction(office.scope) as tx:
        assert await classes.highest(tx, office.scope, [theirs]) is None
    clock = Clock()
    process, taken = ClassificationProcess(classes, clock), list[str | None]()
    while (tenant := await process.turn()) is not None:
        taken.append(tenant)
    assert stranger.scope.tenant in taken and len(set(taken)) == len(taken)
    assert found(admin_dsn) == {"theirs.txt": "confidential"}
    clock.now += EVERY
    assert await process.turn() is not None


def test_what_nobody_has_looked_at_is_taken_for_the_strictest() -> None:
    mask = AnswerMask([AnswerRule("mask", classes=("restricted",))])
    assert mask.of_source("public").text("a.b@example.org") == "a.b@example.org"
    assert mask.of_source("?").text("a.b@example.org") == "[email]"
