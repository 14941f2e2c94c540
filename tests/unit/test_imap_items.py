"""Mailboxes: which folders are read, what messages are called, which are the same, and whom they name."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.documents.sources.imap.imap_items import (
    MOST_HEADER,
    ListedMessage,
    MailFolder,
    choose_folders,
    item_id,
    message_items,
    split_id,
)
from pipelines.documents.sources.source_port import ItemRights, SourceItem, SourceRefused

INBOX = MailFolder(b"INBOX", "INBOX")
CAME = datetime(2024, 5, 6, 7, 8, tzinfo=UTC)


def row(name: str | bytes, *attributes: str, delimiter: bytes = b"/") -> tuple[Any, Any, Any]:
    raw = name if isinstance(name, bytes) else name.encode()
    return tuple(one.encode() for one in attributes), delimiter, raw


def names(rows: Sequence[tuple[Any, Any, Any]], *patterns: str) -> list[str]:
    chosen, faults = choose_folders(rows, patterns)
    assert not faults
    return [one.name for one in chosen]


def item(header: bytes | None, *, participants: bool = False, folder: MailFolder = INBOX, size: int = 9) -> SourceItem:
    (made,) = message_items(folder, 7, [ListedMessage(3, size, header, CAME)], Counter(), participants=participants)
    return made


BOX = [
    row("INBOX"),
    row("Archive"),
    row("Bin", "\\Trash", "\\HasChildren"),
    row("Bin/Old project"),
    row("Bingo"),
    row("Spam", "\\Junk"),
    row("Drafts", "\\Drafts"),
    row("All Mail", "\\All"),
    row("Shared", "\\Noselect"),
    row("Shared/Team"),
]


def test_trash_spam_drafts_and_views_are_left_out_with_what_lies_below_them() -> None:
    assert names(BOX) == ["Archive", "Bingo", "INBOX", "Shared/Team"]
    told_nothing = [row("INBOX"), row("INBOX.Trash"), row("Junk E-mail"), row("Work")]
    assert names(told_nothing) == ["INBOX", "INBOX.Trash", "Work"]
    dotted = [row("INBOX", delimiter=b"."), row("INBOX.Trash", delimiter=b"."), row("INBOX.a/b", delimiter=b".")]
    assert names(dotted) == ["INBOX", "INBOX/a_b"]


def test_patterns_choose_folders_and_a_name_that_is_not_there_is_a_fault() -> None:
    assert names(BOX, "inbox", "Shared/*") == ["INBOX", "Shared/Team"]
    assert names(BOX, "!Archive") == ["Bingo", "INBOX", "Shared/Team"]
    assert names(BOX, "B*", "!Bin/*") == ["Bin", "Bingo"], "whoever names the trash gets it"
    assert names([row("[Gmail]/All Mail", "\\All"), row("INBOX")], "[Gmail]/All Mail") == ["[Gmail]/All Mail"]
    chosen, faults = choose_folders(BOX, ["INBOX", "Contracts"])
    assert [one.name for one in chosen] == ["INBOX"] and [one.path for one in faults] == ["Contracts"]


@pytest.mark.parametrize("rows", [[], [row("Trash", "\\Trash")]])
def test_a_mailbox_of_which_nothing_is_to_be_read_is_refused(rows: list[Any]) -> None:
    with pytest.raises(SourceRefused, match="no folder"):
        choose_folders(rows, [])


def test_names_of_folders_in_every_script_and_of_no_script() -> None:
    rows = [row("INBOX"), row("Entw&APw-rfe"), row("Entwürfe 2".encode()), row(b"R&-D"), row(b"&bad"), row(b"\xff\xfe")]
    found = {one.raw: one.name for one in choose_folders(rows, [])[0]}
    assert found[b"Entw&APw-rfe"] == "Entwürfe" and found["Entwürfe 2".encode()] == "Entwürfe 2"
    assert found[b"R&-D"] == "R&D" and found[b"\xff\xfe"] == "ÿþ" and b"&bad" in found
    for raw in found:
        assert split_id(item_id(MailFolder(raw, ""), 5, 6)) == (raw, 5, 6)


def test_a_list_of_folders_that_makes_no_sense_ends_nothing() -> None:
    for attributes in (5, None, (5, None, (b"x",), 10**12), b"x"):
        for delimiter in (5, None, (b"/",), 10**12):
            folders, faults = choose_folders([(attributes, delimiter, b"INBOX")], [])
            assert [one.name for one in folders] == ["INBOX"] and not faults


def test_a_name_that_would_end_a_command_is_a_fault() -> None:
    chosen, faults = choose_folders([row("INBOX"), row(b'x"\r\nA1 DELETE INBOX'), row(b"y" * 2000)], [])
    assert [one.name for one in chosen] == ["INBOX"] and len(faults) == 2


SUBJECTS = {
    b"=?utf-8?Q?Angebot_f=C3=BCr_den_Hafen?=": "Angebot für den Hafen",
    b"=?utf-8?B?w4Q=?= =?utf-8?B?w5Y=?=": "ÄÖ",
    b"=?koi8-r?B?8NLJ18XU?=": "Привет",
    b"=?gb2312?B?xOO6ww==?= and more": "你好 and more",
    b"=?x-unknown?Q?caf=E9?=": "café",
    b"=?utf-8?B?!!!?=": "=_utf-8_B_!!!_=",
    "Grüße, roh".encode(): "Grüße, roh",
    "Grüße".encode("latin-1"): "Grüße",
    b"../../etc/passwd": "etc passwd",
    b'a\\b:c*"d<e>|f': "a b c d e f",
    b"=?utf-8?Q?invoice=E2=80=AEfdp.exe?=": "invoice fdp.exe",
    b"=?utf-8?Q?two=0D=0Alines=00?=": "two lines",
    b"x" * 5000: "x" * 80,
    b"": "message",
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_message_is_called_by_its_subject_in_safe_characters_and_its_date(subject: bytes) -> None:
    found = item(b"Subject: " + subject + b"\r\nDate: Tue, 1 Oct 2024 10:05:00 +0200\r\n\r\n").path
    folder, _, name = found.partition("/")
    shown = SUBJECTS[subject].replace("=_utf-8_B_!!!_=", "")
    assert folder == "INBOX" and name.endswith(" 2024-10-01 1005.eml")
    if shown:
        assert name == f"{shown} 2024-10-01 1005.eml"
    assert "/" not in name and name.isprintable()


def test_without_a_date_or_a_header_it_still_has_a_name() -> None:
    assert item(b"Subject: A\r\nDate: yesterday\r\n\r\n").path == "INBOX/A 2024-05-06 0708.eml"
    assert item(None).path == "INBOX/message 2024-05-06 0708.eml"
    (bare,) = message_items(INBOX, 7, [ListedMessage(3)], Counter(), participants=False)
    assert bare.path == "INBOX/message 3.eml" and bare.fingerprint is None
    assert item(b"", folder=MailFolder(b"", "../a:b/ ")).path.startswith("_/a b/_/")


HEADER = b"Message-ID: <1@x>\r\nSubject: A\r\nFrom: a@x.example\r\n\r\n"


def test_a_message_in_another_folder_has_the_same_fingerprint_and_a_copy_its_own() -> None:
    there = item(HEADER, folder=MailFolder(b"Archive", "Archive"))
    here = item(HEADER)
    assert here.fingerprint == there.fingerprint and here.id != there.id and here.version == there.version
    assert item(HEADER, size=10).fingerprint != here.fingerprint
    assert item(HEADER.replace(b"A\r", b"B\r")).fingerprint != here.fingerprint
    rows = [ListedMessage(n, 9, HEADER, CAME) for n in range(3)]
    copies = [one.fingerprint for one in message_items(INBOX, 7, rows, Counter(), participants=False)]
    assert copies[0] == here.fingerprint and len(set(copies)) == 3
    assert item(b"Subject: A\r\n\r\n").fingerprint is None, "a subject alone is no proof"
    assert item(b"Date: x\r\nFrom: a@x.example\r\n\r\n").fingerprint is not None


def test_participants_are_those_whose_whole_address_is_there() -> None:
    header = (
        b'From: Ann <Ann@x.example>\r\nTo: bo@x.example,\r\n "Doe, Jo" <jo@x.example>, none, <a b@x.example>\r\n'
        b"Cc: ann@x.example, team: cy@x.example;\r\nBcc: secret@x.example\r\n\r\n"
    )
    assert item(header).rights is None
    found = item(header, participants=True).rights
    assert found == ItemRights(users=("ann@x.example", "bo@x.example", "jo@x.example", "cy@x.example"))
    long = b"From: a@x.example\r\nTo: " + b",\r\n ".join(b"person%05d@x.example" % n for n in range(3000))
    users = item(long[:MOST_HEADER], participants=True).rights
    assert users is not None and users.users[0] == "a@x.example" and len(users.users) == 1000
    cut = b"From: a@x.example\r\nTo: " + b"x" * (MOST_HEADER - 41) + b"\r\n bo@x.example.org"
    cut = cut.ljust(MOST_HEADER, b"o")[:MOST_HEADER]
    assert item(cut, participants=True).rights == ItemRights(users=("a@x.example",)), "half an address is nobody"
    assert item(None, participants=True).rights == ItemRights()


@pytest.mark.parametrize("filler", [b"(", b"<", b'"', b",", b"@", b"=?utf-8?B?", b"\\", b"a@b.c,", b"a:", b"(\\"])
def test_hostile_headers_cost_little(filler: bytes) -> None:
    value = (filler * MOST_HEADER)[: MOST_HEADER // 3]
    began = time.process_time()
    item(b"Subject: " + value + b"\r\nFrom: " + value + b"\r\nTo: " + value + b"\r\n\r\n", participants=True)
    assert time.process_time() - began < 1.0
