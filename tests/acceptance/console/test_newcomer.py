"""The eight steps of README, followed literally: every name that stands there in bold is what is looked for here."""

import re

import httpx
from playwright.sync_api import Page, expect

from tests.acceptance.conftest import ROOT
from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW, say
from tests.acceptance.console.lines import Lines
from tests.acceptance.console.looks import Shot
from tests.acceptance.console.people import FIRST, add, choose_password, sign_in

STEP = re.compile(r"^(\d)\. (.+(?:\n   .+)*)", re.MULTILINE)


def steps() -> list[str]:
    """What README tells a newcomer to do."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = STEP.findall(text.partition("## A first walk")[2].partition("\n## ")[0])
    assert [number for number, _ in found] == [str(n) for n in range(1, 9)]
    return [" ".join(step.split()) for _, step in found]


def bold(step: str) -> list[str]:
    return re.findall(r"\*\*(.+?)\*\*", step)


def code(step: str) -> list[str]:
    return re.findall(r"`(.+?)`", step)


def to(page: Page, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click(timeout=SLOW)
    expect(page.get_by_role("heading", name=name, exact=True).first).to_be_visible(timeout=SLOW)


def test_the_eight_steps_work(stranger: Page, http: httpx.Client, seen: Seen, shot: Shot, lines: Lines) -> None:
    page, email = stranger, add(http, "walks@orchestrator.local", "admin")
    enter, drop, read, ask, cite, lab, run, leave = steps()

    assert "make up" in code(enter)
    sign_in(page, email, FIRST)
    choose_password(page)

    where, field = bold(drop)
    to(page, where)
    expect(page.get_by_role("heading", name=field)).to_be_visible(timeout=SLOW)
    folder, *names = code(drop)
    page.set_input_files("#upload input[type=file]", [str(ROOT / folder / name) for name in names])
    expect(page.get_by_text(f"All {len(names)} files are done")).to_be_visible(timeout=SLOW)

    (where,), (paper,) = bold(read), code(read)
    to(page, where)
    page.get_by_role("link", name=paper).first.click(timeout=SLOW)
    expect(page.locator(".doc-sheet img")).to_be_visible(timeout=SLOW)

    where, question = bold(ask)
    to(page, where)
    say(page, question)
    (chip,) = bold(cite)
    with page.context.expect_page(timeout=SLOW) as opened:
        page.locator("a.aos-chip", has_text=chip).first.click(timeout=SLOW)
    expect(opened.value.locator(".doc-sheet .doc-passage").first).to_be_visible(timeout=SLOW)
    opened.value.close()

    where, field, press = bold(lab)
    to(page, where)
    page.get_by_label(field, exact=True).fill(question)
    page.get_by_role("button", name=press, exact=True).click()
    expect(page.get_by_role("heading", name="Passages through the stages")).to_be_visible(timeout=SLOW)

    where, press = bold(run)
    to(page, where)
    page.locator(".aos-table tbody a").first.click(timeout=SLOW)
    page.get_by_role("button", name=press).click(timeout=SLOW)
    expect(page.get_by_text("byte for byte")).to_be_visible(timeout=SLOW)

    (press,) = bold(leave)
    page.get_by_role("button", name=press).click()
    expect(page.get_by_label("Password")).to_be_visible(timeout=SLOW)
    assert seen.errors == []
    lines.tell("steps of README that work", "8 of 8", True)
