"""The page Skills: forms from JSON Schema and back, filters, the steps of the academy, and escaping."""

from dataclasses import dataclass
from typing import Any

import gradio as gr
import httpx
import pytest

from serve_apps.ui.kit.api import SignInClient
from serve_apps.ui.kit.page import COOKIE, ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import Role, SessionStore, TokenGrant
from serve_apps.ui.skills.academy import standing_view, step_of
from serve_apps.ui.skills.bring import imported_view
from serve_apps.ui.skills.catalogue import filter_choices, filter_skills
from serve_apps.ui.skills.page import TABS, offers
from serve_apps.ui.skills.schema import kind_of, schema_fields, typed_arguments
from serve_apps.ui.skills.trial import why_not
from serve_apps.ui.skills.views import list_view, parameters_view, skill_view
from serve_apps.ui.skills.write import SkillWorkbench

HOSTILE = '<img src=x onerror=alert(1)>"${x}'
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 9, "description": "Where."},
        "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
        "unit": {"enum": ["C", "F"]},
        "exact": {"type": "boolean", "default": False},
        "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object"},
        "any": {},
    },
    "required": ["city", "unit"],
}
SKILL: dict[str, Any] = {
    "name": "weather",
    "description": "The weather.",
    "type": "http",
    "category": "Office/Web",
    "risk": "read",
    "permissions": ["viewer", "developer", "operator", "admin"],
    "timeout": 30.0,
    "credential": None,
    "parameters": SCHEMA,
    "options": {"url": "https://w.example"},
    "version": 2,
    "origin": "registered",
    "sandbox": False,
    "versions": [
        {
            "version": 2,
            "description": "d",
            "text": "t",
            "code": "",
            "sha256": "ab" * 32,
            "created_by": None,
            "created_at": "2026-01-02T03:04:05Z",
        }
    ],
}


def desk() -> ConsoleContext:
    return ConsoleContext(SessionStore(60, lambda: 0.0), None, ())  # type: ignore[arg-type]


def test_a_schema_becomes_fields_the_needed_ones_first() -> None:
    form = schema_fields(SCHEMA)
    assert [one.name for one in form[:2]] == ["city", "unit"] and form[0].required and not form[2].required
    assert {one.name: one.sort for one in form} == {
        "city": "text",
        "unit": "choice",
        "days": "whole",
        "exact": "yes_no",
        "tags": "lines",
        "more": "json",
        "any": "text",
    }
    days = next(one for one in form if one.name == "days")
    assert (days.limits, days.default) == ("at least 1, at most 7", 3)
    assert kind_of({"type": "array", "items": {"type": "string"}}) == "list of text"
    assert schema_fields({"type": "object"}) == []


def test_what_is_typed_becomes_arguments_of_their_types() -> None:
    form = schema_fields(SCHEMA)
    typed = {"city": "Bern", "unit": "C", "days": 2.0, "exact": "no", "tags": "a\n\n b ", "more": '{"x": 1}', "any": ""}
    assert typed_arguments(form, [typed[one.name] for one in form]) == {
        "city": "Bern",
        "unit": "C",
        "days": 2,
        "exact": False,
        "tags": ["a", "b"],
        "more": {"x": 1},
    }


@pytest.mark.parametrize(("name", "value", "said"), [("city", "", "city is needed"), ("more", "{", "more is not JSON")])
def test_what_cannot_be_sent_is_named(name: str, value: str, said: str) -> None:
    form = schema_fields(SCHEMA)
    typed = {"city": "Bern", "unit": "C", name: value}
    with pytest.raises(ApiProblem, match=said):
        typed_arguments(form, [typed.get(one.name) for one in form])


def test_the_catalogue_is_filtered_by_words_category_type_and_risk() -> None:
    more = SKILL | {"name": "reboot", "category": "Infrastructure/Linux", "risk": "destructive", "type": "ssh"}
    all_ = [SKILL, more]
    assert filter_skills(all_, "WEATHER web", "", "", "") == [SKILL]
    assert (
        filter_skills(all_, None, "Infrastructure", "", "") == [more] and filter_skills(all_, "", "Infra", "", "") == []
    )
    assert (
        filter_skills(all_, "", "", "http", "") == [SKILL] and filter_skills(all_, "", "", "http", "destructive") == []
    )
    assert ("Office (1)", "Office") in filter_choices(all_, "category") and ("ssh (1)", "ssh") in filter_choices(
        all_, "type"
    )
    assert "None of the 191 skills" in list_view(desk(), [], 191)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"risk": "write"}, "changes something"),
        ({"risk": "destructive"}, "for good"),
        ({"type": "internal"}, "prompt"),
        ({"type": "delegate"}, "turn"),
    ],
)
def test_only_what_reads_is_offered_to_be_tried(change: dict[str, str], said: str) -> None:
    reason = why_not(SKILL | change)
    assert (reason == "") if not said else said in reason


def standing(**other: Any) -> dict[str, Any]:
    report = {
        "track": "legal",
        "score": 0.5,
        "pass_mark": 0.8,
        "passed": False,
        "status": "studying",
        "at": "2026-01-03T00:00:00Z",
        "questions": [
            {
                "question": HOSTILE,
                "source": "a.md",
                "answer": HOSTILE,
                "mode": "extractive",
                "found": 1,
                "expected": 2,
                "cited": [{"file": HOSTILE, "page": 4}],
                "right_source": True,
                "missed": [{"fact": "15 minutes", "why": "not_retrieved"}],
            }
        ],
    }
    made = {"agent_id": "a", "status": "studying", "track": "legal", "enrolled_at": "2026-01-02T00:00:00Z"}
    return {**made, "report": report, **other}


def test_the_way_through_the_academy() -> None:
    assert step_of(standing(track=None), 0) == 0
    assert (step_of(standing(report=None), 2), step_of(standing(report=None), 0)) == (1, 2)
    assert (step_of(standing(), 0), step_of(standing(status="graduated"), 0)) == (3, 4)
    enrolled_anew = standing(enrolled_at="2026-01-04T00:00:00Z")
    assert step_of(enrolled_anew, 1) == 1, "a report of before counts for nothing"
    job = {"id": "j", "kind": "embed", "state": "running", "documents": {"done": 1, "expected": 3}}
    made = standing_view(desk(), "a", standing(report=None), [job])
    assert "1 of 3" in made and "References read" in made
    assert "not enrolled" in standing_view(desk(), "a", standing(track=None), [])


def test_a_report_says_what_was_missed_and_why() -> None:
    made = standing_view(desk(), "a", standing(), [])
    assert "15 minutes" in made and "was not found in its documents" in made and "50%" in made and "not passed" in made


def test_what_servers_packages_and_people_wrote_is_only_text() -> None:
    schema = {"type": "object", "properties": {HOSTILE: {"enum": [HOSTILE], "description": HOSTILE}}}
    bad = SKILL | {"description": HOSTILE, "parameters": schema, "options": {HOSTILE: [HOSTILE]}, "category": HOSTILE}
    imported = {
        "skill": bad | {"name": HOSTILE},
        "scripts": [],
        "created": [],
        "attached": [],
        "job_id": None,
        "documents": [{"path": HOSTILE, "document_id": "d" * 32, "change": "new"}],
        "trust": "unsigned",
        "ignored": [HOSTILE],
    }
    views = (
        skill_view(bad),
        parameters_view(schema),
        list_view(desk(), [bad], 1),
        imported_view(desk(), imported),
        standing_view(desk(), "a", standing(), []),
    )
    for made in views:
        assert "<img src=x" not in made and "${" not in made and "&lt;img src=x" in made


@pytest.mark.parametrize(
    ("role", "shown"),
    [
        (Role.VIEWER, ["catalogue", "academy"]),
        (Role.DEVELOPER, ["catalogue", "write", "academy"]),
        (Role.OPERATOR, ["catalogue", "import", "write", "academy"]),
    ],
)
def test_au_04_developers_are_offered_the_place_where_scripts_are_tried(role: Role, shown: list[str]) -> None:
    """AU-04: a developer runs code; skills are the operator's."""
    assert [tab for tab in (*TABS, "nowhere") if offers(role, tab)] == shown


@dataclass
class Cookies:
    """What of a request the console reads."""

    cookies: dict[str, str]


@pytest.mark.parametrize(("role", "gives"), [(Role.DEVELOPER, False), (Role.OPERATOR, True)])
async def test_au_04_a_developer_tries_a_script_and_an_operator_may_give_it(role: Role, gives: bool) -> None:
    """AU-04: as the API has it, trying is for developers, keeping for operators."""
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, json={"tried": "loaded", "sample_result": None, "parameters": SCHEMA})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://aos.test")
    made = ConsoleContext(SessionStore(60, lambda: 0.0), SignInClient(client), ())
    key, _ = made.sessions.begin("a@b.example", TokenGrant("a", "r", "u", "t", "w", role, False))
    with gr.Blocks():
        bench = SkillWorkbench(made)
    steps = [
        step async for step in bench.trial(Cookies({COOKIE: key}), "one", "It does.", 5, "def run(p): return p", "")
    ]  # type: ignore[arg-type]
    _, kept, giving, said = steps[-1]
    assert asked == ["/api/skills/python:try"] and kept["name"] == "one"
    assert giving["visible"] is gives and ("An operator" in str(said)) is not gives
