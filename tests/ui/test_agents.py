"""The page Agents: what of a form is sent, which field an error belongs to, and nothing that is not escaped."""

from typing import Any

import pytest

from serve_apps.ui.agents.agent_form import KEYS, field_errors, patch_body, values_of
from serve_apps.ui.agents.agent_skills import ALL, MOST, choices_by_risk, matching_skills
from serve_apps.ui.agents.form_fields import escape_hint
from serve_apps.ui.agents.linked_documents import document_label, range_label
from serve_apps.ui.agents.views import agents_view, rules_view
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.sessions import SessionStore

HOSTILE = '<img src=x onerror=alert(1)>"${x}'
BASE = ("search_knowledge", "calculator")
CATALOGUE = (
    ("ssh_reboot", "Infrastructure/Linux", "destructive", "Restart a machine."),
    ("disk_usage", "Infrastructure/Linux", "read", "How full disks are."),
    ("jira_comment", "Projects/Jira", "write", "Comment on an issue."),
)


def agent(**config: Any) -> dict[str, Any]:
    return {
        "id": "7265424f-3f8b-4242-aef8-3b016911afec",
        "name": "clerk",
        "description": "",
        "system_prompt": "Be kind.",
        "whole_workspace": False,
        "auto_link_uploads": False,
        "config": config,
        "metadata": {},
        "documents": 3,
        "updated_at": "2026-01-02T03:04:05Z",
    }


def desk() -> ConsoleContext:
    return ConsoleContext(SessionStore(60, lambda: 0.0), None, ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"temperature": 0.2, "tools": ["calculator", "jira_comment"], "deep_planning_enabled": False},
        {"llm_routing": {"primary_connection_id": "a", "fallback_chain": ["b"], "task_routing": {"chat": "c"}}},
    ],
)
def test_a_form_that_nobody_touched_sends_nothing(config: dict[str, Any]) -> None:
    one = agent(**config)
    values = values_of(one, BASE)
    assert set(values) == set(KEYS)
    assert patch_body(one, values, BASE) == {}


def test_only_what_changed_is_sent_and_what_is_emptied_goes_back_to_the_settings() -> None:
    one = agent(temperature=0.2, max_iterations=7)
    form = values_of(one, BASE) | {"name": "Clerk", "temperature": None, "rag_top_k": 5.0, "system_prompt": "Be kind."}
    assert patch_body(one, form, BASE) == {"name": "Clerk", "config": {"temperature": None, "rag_top_k": 5}}


def test_planning_says_yes_no_or_nothing() -> None:
    one = agent(deep_planning_enabled=True, deep_planning_style="concise")
    form = values_of(one, BASE)
    assert form["deep_planning_enabled"] == "on"
    assert patch_body(one, form | {"deep_planning_enabled": "off"}, BASE) == {
        "config": {"deep_planning_enabled": False}
    }
    left = patch_body(one, form | {"deep_planning_enabled": "", "deep_planning_style": ""}, BASE)
    assert left == {"config": {"deep_planning_enabled": None, "deep_planning_style": None}}


def test_tools_that_are_no_base_tools_stay_and_all_of_them_is_no_list() -> None:
    one = agent(tools=["calculator", "jira_comment"])
    form = values_of(one, BASE)
    assert form["tools"] == ["calculator"]
    assert patch_body(one, form | {"tools": []}, BASE) == {"config": {"tools": ["jira_comment"]}}
    plain = agent(tools=["calculator"])
    assert patch_body(plain, values_of(plain, BASE) | {"tools": list(BASE)}, BASE) == {"config": {"tools": None}}


def test_routing_is_sent_whole_because_it_is_one_value_of_the_config() -> None:
    one = agent(llm_routing={"primary_connection_id": "a", "max_fallback_attempts": 1})
    form = values_of(one, BASE) | {"task_code_gen": "b"}
    assert patch_body(one, form, BASE)["config"]["llm_routing"] == {
        "primary_connection_id": "a",
        "fallback_chain": [],
        "task_routing": {"code_gen": "b"},
        "cost_aware": False,
        "max_fallback_attempts": 1,
    }
    nothing = {"primary_connection_id": "", "max_fallback_attempts": 3}
    assert patch_body(one, values_of(one, BASE) | nothing, BASE) == {"config": {"llm_routing": None}}


def test_an_error_of_the_api_belongs_to_its_field() -> None:
    detail = (
        "body.config.max_iterations: Input should be less than or equal to 50; body.name: String should have at least 1"
        " character; body.config.llm_routing.task_routing.chat: bad; body.odd: never mind"
    )
    assert field_errors(detail) == {
        "max_iterations": "Input should be less than or equal to 50",
        "name": "String should have at least 1 character",
        "task_chat": "bad",
    }
    assert field_errors("the agent clerk exists already") == {}


def test_skills_are_found_by_all_words_and_offered_by_risk() -> None:
    assert [line[0] for line in matching_skills(CATALOGUE, "linux MACHINE", ALL)] == ["ssh_reboot"]
    assert [line[0] for line in matching_skills(CATALOGUE, "", "Projects")] == ["jira_comment"]
    made = choices_by_risk(CATALOGUE, "jira", ALL, {"read": ["disk_usage"]})
    assert [name for _, name in made["read"]] == ["disk_usage"], "what is chosen is not lost by searching on"
    assert made["destructive"] == [] and made["write"][0][0].startswith("Projects/Jira · jira_comment: ")
    many = [(f"s{n:03}", "A/B", "read", "") for n in range(MOST + 20)]
    assert len(choices_by_risk(many, "", ALL, {})["read"]) == MOST


def test_what_people_and_servers_wrote_is_only_text() -> None:
    rule = {
        "tool": HOSTILE,
        "source": "attached",
        "type": "mcp",
        "risk": "write",
        "decision": "ask",
        "reason": HOSTILE,
        "conditions": [{"when": {HOSTILE: [HOSTILE, 3]}, "decision": "refuse", "reason": ""}],
    }
    one = agent() | {"name": HOSTILE, "description": HOSTILE, "metadata": {"academy_status": HOSTILE}}
    listed = agents_view(desk(), {"items": [one], "total": 1}, 0, 50, may_make=True)
    for made in (rules_view(desk(), [rule]), listed):
        assert "<img src=x" not in made and "${" not in made and "&lt;img src=x" in made
    assert (
        escape_hint("a_b _c_ *d* `e` [x](http://e)") == "a_b \u02cdc\u02cd \u2217d\u2217 \u2032e\u2032 [x] (http://e)"
    )


def test_rules_say_what_becomes_of_a_call_in_words() -> None:
    rule = {
        "tool": "http_get",
        "source": "base",
        "type": "http",
        "risk": "read",
        "decision": "refuse",
        "reason": "No.",
        "conditions": [{"when": {"url": ["https://a/*", "https://b/*"]}, "decision": "auto", "reason": ""}],
    }
    made = rules_view(desk(), [rule])
    assert "If url is https://a/* or https://b/*: runs." in made and "1 are refused" in made


def test_documents_are_told_in_a_line() -> None:
    one = {"filename": HOSTILE, "file_type": "pdf", "page_count": 1, "status": "completed"}
    assert document_label(one) == f"{HOSTILE} · pdf, 1 page"
    assert document_label(one | {"page_count": None, "status": "failed"}).endswith("pdf, failed")
    assert (range_label(20, 45), range_label(40, 45), range_label(0, 0)) == ("21–40 of 45", "41–45 of 45", "none")


def test_an_empty_list_says_what_to_do() -> None:
    body = {"items": [], "total": 0}
    assert "Make the first one" in agents_view(desk(), body, 0, 50, may_make=True)
    assert "New agent" not in agents_view(desk(), body, 0, 50, may_make=False)
