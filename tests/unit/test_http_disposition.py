"""Names of uploads, in every form that senders write them."""

import base64
from collections.abc import AsyncGenerator
from urllib.parse import quote

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request

from serve_apps.http.content_disposition import FormRequest, NamedParts, sent_name

NAME = "Prüfplan Öst.csv"
WORD = "=?utf-8?B?" + base64.b64encode(NAME.encode()).decode() + "?="


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        (f"filename=\"{WORD}\"; filename*=utf-8''{quote(NAME)}".encode(), NAME),  # .NET
        (f"filename*=UTF-8''{quote(NAME)}".encode(), NAME),  # urllib3 before 1.25
        (f"filename*=UTF-8''{quote(NAME)}; filename=a.csv".encode(), NAME),
        (b"filename*=iso-8859-1'de'Pr%FCfplan.csv", "Prüfplan.csv"),
        (b"filename*0*=utf-8''Pr%C3%BC; filename*1=fplan.csv", "Prüfplan.csv"),
        (f'filename="{WORD}"'.encode(), NAME),
        (b'filename="=?utf-8?Q?Pr=C3=BCfplan_1.csv?="', "Prüfplan 1.csv"),
        (f'filename="{NAME}"'.encode(), NAME),  # browsers
        (f'filename="{NAME}"'.encode("latin-1"), NAME),
        (f'filename="{quote(NAME)}"'.encode(), NAME),
        (b'filename="a\\"b;c.txt"', 'a"b;c.txt'),
        (b'filename="C:\\new\\a.txt"', "C:\\new\\a.txt"),
        (b"filename=plain.txt", "plain.txt"),
        (b'filename="50% off.txt"', "50% off.txt"),
        (b'filename="a%FF.txt"', "a%FF.txt"),
        (b'filename=""', ""),
        (b"size=3", None),
    ],
)
def test_a_file_keeps_the_name_its_sender_meant(sent: bytes, name: str | None) -> None:
    assert sent_name(b"form-data; name=file; " + sent) == name


def form(*parts: bytes) -> bytes:
    return b"".join(b"--B\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--B--\r\n"


async def parsed(body: bytes) -> list[tuple[str, object, bytes]]:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", b'multipart/form-data; boundary="B"')]
    request = FormRequest({"type": "http", "method": "POST", "headers": headers}, receive)
    items = (await request.form()).multi_items()
    return [
        (name, item, b"") if isinstance(item, str) else (name, item.filename, await item.read()) for name, item in items
    ]


async def test_a_form_hands_out_meant_names_and_leaves_fields_alone() -> None:
    body = form(
        f"name=file; filename=\"{WORD}\"; filename*=utf-8''{quote(NAME)}\r\n\r\nA;1".encode(),
        f"name=more; filename*=utf-8''{quote(NAME)}\r\n\r\nB;2".encode(),
        b'name="tags"\r\n\r\nx,y',
    )
    assert await parsed(body) == [("file", NAME, b"A;1"), ("more", NAME, b"B;2"), ("tags", "x,y", b"")]


async def test_a_broken_form_is_refused_as_before() -> None:
    with pytest.raises(HTTPException) as refused:
        await parsed(b"--B\r\nno header at all")
    assert refused.value.status_code == 400


async def test_other_forms_are_read_as_ever() -> None:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"a=1", "more_body": False}

    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    request: Request = FormRequest({"type": "http", "method": "POST", "headers": headers}, receive)
    assert dict(await request.form()) == {"a": "1"}


async def test_the_parser_still_has_the_part_it_is_at() -> None:
    """`NamedParts` reaches into Starlette's parser; a version without these attributes shows here."""

    async def nothing() -> AsyncGenerator[bytes, None]:
        yield b"--B--\r\n"

    parser = NamedParts(Headers({"content-type": "multipart/form-data; boundary=B"}), nothing())
    assert parser._current_part.content_disposition is None and parser._current_part.file is None
