"""Documents under a policy on personal data: counted by kind, or covered in all that is made of their pages."""

from dataclasses import replace
from itertools import islice
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from cluster.state.db.postgres import Database
from pipelines.documents.document import Box, Page, Word
from pipelines.documents.privacy.page_masks import mark_page
from pipelines.documents.privacy.policy_rules import Action, PolicyBody, read_governance
from pipelines.documents.privacy.policy_store import PolicyStore
from pipelines.documents.store.document_writes import DocumentStore
from tests.fakes.ledger import Bench, new_workspace
from tests.fakes.planted import plant_values

pytestmark = pytest.mark.postgres

PLANTED = tuple(islice(plant_values(5), 60))


def kept(admin_dsn: str) -> dict[str, str]:
    """Every row of every table, as text."""
    found = {}
    with psycopg.connect(admin_dsn) as connection:
        for (name,) in connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall():
            rows = connection.execute(sql.SQL("select t::text from {} t").format(sql.Identifier(name))).fetchall()
            found[name] = "\n".join(row[0] for row in rows)
    return found


def masking(database: Database) -> PolicyStore:
    return PolicyStore(database, read_governance())


@pytest.mark.parametrize("action", ["none", "mark", "mask"])
async def test_gv_04_what_is_made_of_a_document_follows_the_policy(
    ledger: Bench, admin_dsn: str, tmp_path: Path, action: Action
) -> None:
    """GV-04: with `mask` no page, chunk, table, entity or index has any of 60 values; marked pages are counted."""
    scope, policies = await new_workspace(admin_dsn), masking(ledger.database)
    async with ledger.database.transaction(scope) as tx:
        body = PolicyBody(pii={"documents": action})
        await policies.add(tx, scope, uuid4(), "documents", body, tenant_wide=False)
    folder = tmp_path / "in"
    folder.mkdir()
    pages = [". ".join(one.said for one in PLANTED[at : at + 10]) for at in range(0, 60, 10)]
    (folder / "letters.txt").write_text("\f".join([*pages, "Nothing stands here."]))
    bench = replace(ledger, store=DocumentStore(ledger.database, policies.of_documents))
    await bench.scan(scope, folder)
    places = kept(admin_dsn)
    found = {name for name, text in places.items() for one in PLANTED if one.value in text}
    rows = await ledger.rows(scope, "select number, text, personal_data from pages order by number")
    assert len(rows) == 7 and (found == set()) is (action == "mask"), found
    if action == "none":
        assert {"pages", "document_chunks"} <= found and all(row["personal_data"] is None for row in rows)
    else:
        assert sum(sum(row["personal_data"].values()) for row in rows) == 60
        assert rows[-1]["personal_data"] == {} and rows[-1]["text"] == "Nothing stands here."
    if action == "mask":
        assert "[email]" in places["document_chunks"] and "Write to" in places["document_chunks"]


def test_gv_04_words_and_boxes_stay_where_they_are_under_a_mask() -> None:
    """GV-04: a mask is as long as what it covers, so a citation still points to its line."""
    text = "Pay to DE89 3704 0044 0532 0130 00 or ring ann@example.org, Dr. Li."
    words, at = [], 0
    for piece in text.split(" "):
        words.append(Word(piece, at, Box(0, 0, 1, 1)))
        at += len(piece) + 1
    page, counts = mark_page(Page(1, text, tuple(words)), "mask")
    assert counts == {"iban": 1, "email": 1, "name": 1} and len(page.text) == len(text)
    assert page.text == "Pay to [iban]" + "█" * 21 + " or ring [email]" + "█" * 8 + ", Dr. ██."
    assert all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)
    assert mark_page(page, "mask") == (page, {})
    short, counts = mark_page(Page(1, "password: ab_12c"), "mask")
    assert (short.text, counts) == ("password: " + "█" * 6, {"secret": 1}) and mark_page(short, "mark") == (short, {})
    assert mark_page(Page(1, text), "none") == (Page(1, text), None)
