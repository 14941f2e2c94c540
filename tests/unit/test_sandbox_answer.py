"""Answers of scripts: whatever bytes come, one JSON object or an error by name."""

import json
import signal

import pytest

from skills.sandbox.sandbox_errors import ForbiddenImport, ScriptFailed, ScriptMemory, ScriptTimeout
from skills.sandbox.script_result import DEEPEST, read_value, stored_text
from skills.sandbox.worker import WorkerExit


def ended(answer: object, code: int = 0) -> WorkerExit:
    raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n"
    return WorkerExit(raw, b"printed", b"warned", code)


def test_sk_10_a_value_is_an_object() -> None:
    assert read_value(ended({"value": {"a": [1, None, "ü"]}})) == {"a": [1, None, "ü"]}


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff\xfe\n",
        b"{}\n",
        b"[]\n",
        b'{"value": 1}\n',
        b'{"value": {"x": NaN}}\n',
        b'{"value": {"x": Infinity}}\n',
        b'{"value": {"x": "\\ud800"}}\n',
        b'{"value": {"x": ' + b"9" * 5000 + b"}}\n",
        b'{"value": ' + b"[" * 200_000 + b"\n",
        b'{"error": 7}\n',
        b"\x80\x04cos\nsystem\n.\n",
    ],
)
def test_what_is_no_object_of_json_is_refused(answer: bytes) -> None:
    with pytest.raises(ScriptFailed, match="not a JSON object") as caught:
        read_value(ended(answer))
    assert (caught.value.stdout, caught.value.stderr) == ("printed", "warned")


def test_a_result_may_be_nested_so_deep_and_no_deeper() -> None:
    value: object = 1
    for _ in range(DEEPEST - 1):
        value = {"a": value}
    assert read_value(ended({"value": value})) == value
    with pytest.raises(ScriptFailed, match="deep"):
        read_value(ended({"value": {"a": value}}))


def test_errors_come_back_by_name_and_shortened() -> None:
    with pytest.raises(ScriptFailed) as failed:
        read_value(ended({"error": "E" * 9000, "trace": "T" * 20_000}))
    assert (len(failed.value.detail), len(failed.value.trace)) == (2000, 8000)
    with pytest.raises(ForbiddenImport, match="numpy"):
        read_value(ended({"error": "numpy may not", "forbidden": True}))
    with pytest.raises(ScriptMemory):
        read_value(ended({"error": "MemoryError", "memory": True}))


@pytest.mark.parametrize("code", [-signal.SIGSEGV, 128 + signal.SIGSEGV])
def test_a_death_is_told_by_its_signal(code: int) -> None:
    with pytest.raises(ScriptFailed, match="SIGSEGV"):
        read_value(WorkerExit(None, b"", b"", code))


def test_an_end_without_an_answer_is_a_failure_and_spent_time_a_timeout() -> None:
    with pytest.raises(ScriptFailed, match="died before it gave"):
        read_value(WorkerExit(None, b"", b"", 0))
    with pytest.raises(ScriptTimeout):
        read_value(WorkerExit(None, b"", b"", 128 + signal.SIGXCPU))


def test_text_can_always_be_stored() -> None:
    assert stored_text(b"a\x00b\xff") == "a�b�"
