"""What was opened for a call is taken out of what the call says, in the forms in which it gets out."""

import asyncio
import base64
import json
import logging
from urllib.parse import quote, quote_plus

import pytest

from skills.framework.dependencies import Secret
from skills.framework.manifest import CredentialType
from skills.framework.redaction import MARK, SecretRedactor, redact_secrets, register_opened, watch_secrets

WORD = 'pä ss+w/"rd\\7'
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nAQEFAASCBKcwggSjAgEA\n-----END PRIVATE KEY-----\n"


def secret(shown: frozenset[str] = frozenset(), **values: str) -> Secret:
    return Secret("s", CredentialType.CUSTOM, values, shown)


FORMS = {
    "plain": WORD,
    "url": quote(WORD, safe=""),
    "path": quote(WORD),
    "form": quote_plus(WORD),
    "lower": quote(WORD, safe="").lower(),
    "base64": base64.b64encode(WORD.encode()).decode(),
    "urlsafe": base64.urlsafe_b64encode(WORD.encode()).decode().rstrip("="),
    "basic": base64.b64encode(f"user:{WORD}".encode()).decode(),
    "basic2": base64.b64encode(f"admin1:{WORD}".encode()).decode(),
    "basic3": base64.b64encode(f"u1:{WORD}!!".encode()).decode(),
    "json": json.dumps(WORD),
    "unescaped": json.dumps(WORD, ensure_ascii=False),
    "repr": repr(WORD),
    "html": "p&#228; ss".replace("&#228;", "ä") + "+w/&quot;rd\\7",
    "hex": WORD.encode().hex(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_taken_out_in_each_of_its_forms(form: str) -> None:
    """CV-02: also where it was encoded on its way."""
    told = redact_secrets(f"before {FORMS[form]} after", [secret(password=WORD)])
    assert MARK in told and told.startswith("before ") and told.endswith(" after")
    for other in (WORD, FORMS[form].strip("\"'"), "ss+w", "w%2F"):
        assert other not in told


def test_parts_of_a_secret_that_are_secrets_themselves() -> None:
    key = secret(private_key=PEM)
    assert "AQEFAASCBKcwggSjAgEA" not in redact_secrets("    AQEFAASCBKcwggSjAgEA", [key])
    assert "-----BEGIN PRIVATE KEY-----" in redact_secrets("expected -----BEGIN PRIVATE KEY-----", [key])
    for dsn, word in (
        ("postgresql://ann:s%20ecret@h/d", "s%20ecret"),
        ("postgresql://ann:s%20ecret@h/d", "s ecret"),
        ("host=h user=ann password=word9 dbname=d", "word9"),
        ("password='it is' host=h", "it is"),
        ("mysql+aiomysql://u:p@ss@h/d", "p@ss"),
    ):
        assert redact_secrets(f"login failed with {word}!", [secret(dsn=dsn)]) == f"login failed with {MARK}!"


def test_what_may_be_shown_and_what_is_too_short_stays() -> None:
    made = secret(frozenset({"host"}), host="db.example", pin="123", token="123456")
    assert redact_secrets("db.example 123 123456", [made]) == f"db.example 123 {MARK}"
    assert redact_secrets("abcdef abc", [secret(a="abcdef", b="abcd")]) == f"{MARK} abc", "the longest first"
    assert "123456" not in repr(made)


def test_json_keeps_its_form() -> None:
    watch = SecretRedactor()
    given = {"a": [1, None, True, "x123456y", 123456, 1.5], "123456": {"b": "ok"}}
    assert watch.json(given) is given, "nothing was opened"
    watch.add(secret(token="123456"))
    assert watch.json(given) == {"a": [1, None, True, f"x{MARK}y", MARK, 1.5], MARK: {"b": "ok"}}


async def test_each_call_watches_for_its_own_and_for_those_below() -> None:
    async def call(word: str) -> str:
        with watch_secrets() as watch:
            await asyncio.sleep(0)
            await asyncio.create_task(opening(word))
            await asyncio.to_thread(register_opened, secret(token=word + "-thread"))
            return watch.text("word-one word-two word-one-thread")

    async def opening(word: str) -> None:
        register_opened(secret(token=word))

    with watch_secrets() as above:
        first, second = await asyncio.gather(call("word-one"), call("word-two"))
    assert first == f"{MARK} word-two {MARK}" and second == f"word-one {MARK} word-one-thread"
    assert above.text("word-one word-two") == f"{MARK} {MARK}", "a call inside a call"
    register_opened(secret(token="word-three"))
    assert above.text("word-three") == "word-three", "nobody watched"


def test_the_form_of_log_records_is_left_as_it_is_where_nothing_is_open(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), watch_secrets():
        logging.getLogger("library").info("a %s", "b")
    assert caplog.records[0].args == ("b",)
