"""The page System: forms escape what they show, texts become values, refusals find fields, secrets stay masked."""

from typing import Any

import pytest

from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.sessions import Role
from serve_apps.ui.system import (
    audit_page,
    config,
    erasure_cases,
    legal_holds,
    models,
    people,
    policies,
    rate_limits,
    restart_banner,
    retention_periods,
    section,
    sign_in_sources,
    skill_credentials,
    user_groups,
)
from serve_apps.ui.system.forms import ActForm, field_complaints, refusal_view, secret_shown_once
from serve_apps.ui.system.page import SECTIONS, chosen_section, find_act, offered_sections, parse_query
from serve_apps.ui.system.section import api_route, page_query

HOSTILE = '"><script>alert(1)</script>'


def key(name: str = "search.k1", **more: Any) -> dict[str, Any]:
    """A setting as the API tells it."""
    plain = {
        "key": name,
        "name": name.upper().replace(".", "_"),
        "type": "number",
        "value": 1.2,
        "default": 1.2,
        "source": "default",
        "editable": True,
        "why": "",
        "secret": False,
        "nullable": False,
        "minimum": None,
        "maximum": None,
        "above": None,
        "choices": [],
        "pattern": None,
        "live": ["gateway"],
        "restart": [],
        "changed_at": None,
    }
    return plain | more


def answer(*keys: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The configuration with one group."""
    group = {"id": "app", "title": "App", "colour": "blue", "about": "How.", "keys": list(keys)}
    return {"version": 3, "groups": [group], "needs_restart": [], "left_out": {}, "changed": []} | more


@pytest.mark.parametrize("role", list(Role))
def test_a_role_is_offered_its_parts_only(role: Role) -> None:
    least = {
        "config": Role.ADMIN,
        "models": Role.OPERATOR,
        "people": Role.ADMIN,
        "groups": Role.ADMIN,
        "sign-in": Role.ADMIN,
        "limits": Role.ADMIN,
        "keys": Role.DEVELOPER,
        "credentials": Role.OPERATOR,
        "schedules": Role.VIEWER,
        "webhooks": Role.ADMIN,
        "sources": Role.OPERATOR,
        "audit": Role.ADMIN,
        "policies": Role.ADMIN,
        "holds": Role.ADMIN,
        "erasures": Role.ADMIN,
        "retention": Role.ADMIN,
        "tenants": Role.VIEWER,
    }
    assert [one.id for one in offered_sections(role)] == [
        name for name, needed in least.items() if role.reaches(needed)
    ]
    assert chosen_section(role, {"part": "config"}).id == (
        "config" if role is Role.ADMIN else offered_sections(role)[0].id
    )


def test_an_act_is_found_by_its_name_and_only_from_its_part_on() -> None:
    assert find_act(Role.ADMIN, "config.save") is config.save_settings
    assert find_act(Role.OPERATOR, "config.save") is None
    assert find_act(Role.ADMIN, "__class__") is None
    names = [name for section in SECTIONS for name in section.acts]
    assert len(names) == len(set(names))


def test_an_address_of_the_api_cannot_be_left() -> None:
    assert api_route("users", "../../admin/config?x=1") == "/api/users/..%2F..%2Fadmin%2Fconfig%3Fx%3D1"
    assert page_query("people", who="a&b=c", skip=None) == "?part=people&who=a%26b%3Dc"
    assert parse_query("?part=people&who=a%26b") == {"part": "people", "who": "a&b"}
    assert parse_query(None) == {}
    assert [query_int({"skip": text}) for text in ("50", "-1", "x", "", "²", "9" * 30)] == [50, 0, 0, 0, 0, 0]


def test_ad_01_coloured_groups_stand_above_all_other_settings() -> None:
    other = {"id": "search", "title": "Search", "colour": "grey", "about": "Legs.", "keys": [key()]}
    body = answer(key("http.port"))
    body["groups"] = [{**body["groups"][0], "colour": one} for one in ("blue", "green", "amber", "purple")] + [other]
    shown = config.config_form(body)
    assert [f"aos-group {one}" in shown for one in ("blue", "green", "amber", "purple")] == [True] * 4
    assert "aos-group grey" not in shown
    assert shown.index("aos-group purple") < shown.index("All other settings") < shown.index("SEARCH_K1")


def test_ad_02_a_secret_is_eight_bullets_and_one_that_is_not_set_is_empty() -> None:
    secret = {"secret": True, "type": "text", "nullable": True}
    assert f'value="{"•" * 8}"' in config.setting_field(
        key("llm.api_key", **secret, value="anything the API might send")
    )
    assert "anything the API" not in config.setting_field(
        key("llm.api_key", **secret, value="anything the API might send")
    )
    assert 'value=""' in config.setting_field(key("llm.api_key", **secret, value=None))
    assert "•" in config.setting_field(key("llm.api_key", **secret, value="x", editable=False, why="no"))


def test_what_cannot_be_changed_here_has_no_field_and_says_why() -> None:
    shown = config.setting_field(key(editable=False, why="set it in a file"))
    assert "<input" not in shown
    assert "Not here: set it in a file" in shown


def test_where_a_value_is_from_and_only_a_row_can_be_taken_back() -> None:
    assert "from the environment" in config.setting_field(key(source="environment"))
    assert "Take back" not in config.setting_field(key(source="yaml"))
    assert 'data-forget="search.k1"' in config.setting_field(key(source="row", changed_at="2026-01-01T00:00:00Z"))


def test_hostile_texts_are_escaped_everywhere() -> None:
    shown = [
        config.setting_field(key(HOSTILE, value=HOSTILE, type="text")),
        config.setting_field(key(value=[HOSTILE], type="list", choices=[HOSTILE])),
        ActForm("x").text("n", HOSTILE, HOSTILE, HOSTILE, options=[HOSTILE]),
        ActForm("x").area("n", "l", "</textarea>" + HOSTILE),
        ActForm("x").button("Send", id=HOSTILE),
        secret_shown_once(HOSTILE, HOSTILE, HOSTILE),
        refusal_view(ProblemReport(HOSTILE, f"body.name: {HOSTILE}", HOSTILE, 422, "invalid")),
        audit_page.entries({"items": [_entry(action=HOSTILE, object=HOSTILE, detail={HOSTILE: [HOSTILE]})]}),
        models.probe_result(HOSTILE, _found(ok=False, reason="tls", detail=HOSTILE)),
        restart_banner.latest_restarts([_restart(error=HOSTILE)]),
    ]
    assert [one for one in shown if "<script" in one or not isinstance(one, SafeHtml)] == []


def _entry(**more: Any) -> dict[str, Any]:
    plain = {
        "seq": 7,
        "at": "2026-01-01T00:00:00Z",
        "actor": "worker",
        "actor_email": None,
        "action": "user.add",
        "object": "x",
        "outcome": "done",
        "detail": {},
        "hash": "ab",
        "intact": True,
    }
    return plain | more


def _found(**more: Any) -> dict[str, Any]:
    plain = {
        "ok": True,
        "endpoint": "http://h/v1",
        "models": ["m"],
        "model_listed": True,
        "latency_ms": 42.0,
        "reason": None,
        "detail": "",
    }
    return plain | more


def _restart(**more: Any) -> dict[str, Any]:
    plain = {
        "id": 1,
        "parts": ["worker"],
        "asked_at": "2026-01-01T00:00:00Z",
        "taken_at": None,
        "done_at": None,
        "error": None,
    }
    return plain | more


@pytest.mark.parametrize(
    ("text", "more", "value"),
    [
        ("7", {"type": "integer"}, 7),
        ("7.5", {"type": "integer"}, "7.5"),
        ("0.25", {"type": "number"}, 0.25),
        ("", {"type": "integer", "nullable": True}, None),
        ("true", {"type": "switch"}, True),
        ("", {"type": "switch", "nullable": True}, None),
        ("2", {"type": "choice", "choices": [1, 2, "auto"]}, 2),
        ("a\n\n b \n", {"type": "list"}, ["a", "b"]),
        ("", {"type": "list"}, []),
        ("", {"type": "text"}, ""),
        ("x", {"type": "text"}, "x"),
    ],
)
def test_a_fields_text_becomes_the_settings_value(text: str, more: dict[str, Any], value: object) -> None:
    assert config.read_value(text, key(**more)) == value


def test_ad_04_what_is_live_and_what_waits_is_said() -> None:
    assert (
        config.change_reach(key(live=["gateway"], restart=["worker"])) == "Live in gateway; needs a restart of worker."
    )
    assert config.change_reach(key(live=[], restart=["whole"])) == "Needs all of it to be started anew."
    said = config.saved_notice(answer(key(), changed=["search.k1"]))
    assert "search.k1" in said
    assert "Live within seconds (gateway)." in said
    assert "Nothing was changed." in config.saved_notice(answer(key()))


def test_ad_06_a_restart_is_told_step_by_step() -> None:
    taken = "2026-01-01T00:00:02Z"
    assert [
        restart_banner.restart_state(_restart(**more))[0]
        for more in ({}, {"taken_at": taken}, {"taken_at": taken, "done_at": "2026-01-01T00:00:12Z"}, {"error": "no"})
    ] == ["waiting", "rolling", "done", "failed"]
    assert "took 12.0 s" in restart_banner.latest_restarts([_restart(taken_at=taken, done_at="2026-01-01T00:00:12Z")])


def test_what_is_wrong_is_put_to_its_field() -> None:
    told = ProblemReport("Not valid.", "log_level (LOG_LEVEL): one of\nsearch.k1: a number", "", 422, "invalid")
    assert field_complaints(told) == {"log_level": "one of", "search.k1": "a number"}
    told = ProblemReport("Not valid.", "body.email: no address; body.payload.message: too long", "", 422, "invalid")
    assert field_complaints(told) == {"email": "no address", "payload.message": "too long"}
    assert field_complaints(ProblemReport("Forbidden.", "this needs the role admin", "", 403, "forbidden")) == {}


def test_a_connection_that_fails_says_what_to_try() -> None:
    shown = models.probe_result("here", _found(ok=False, reason="unauthorized", detail="401"))
    assert "What to try:" in shown
    assert models.FIXES["unauthorized"] in shown
    assert "42 ms" in models.probe_result("here", _found())
    assert "look at it" in models.probe_result("here", _found(model_listed=False, detail="not there"))


def test_a_models_form_sends_numbers_and_leaves_empty_keys_out() -> None:
    values = {"name": "a", "seconds": "30", "price_in": "x", "key": "", "auth_mode": "", "default": "true"}
    wanted = {"name": "a", "seconds": 30.0, "price_in": "x", "auth_mode": None, "default": True}
    assert models.body_of(values) == wanted


def test_a_credentials_fields_are_sent_as_values_and_never_drawn() -> None:
    values = {"secret:password": "p", "open:username": "u", "secret:token": "", "more": "a=b=c\nnonsense\n=x"}
    assert skill_credentials.credential_content(values) == {"values": {"password": "p", "username": "u", "a": "b=c"}}


def test_a_first_password_is_shown_with_a_button_that_copies_it() -> None:
    shown = secret_shown_once("First password", "s3cret", people.FIRST)
    assert 'data-copy="s3cret"' in shown
    assert shown.count("s3cret") == 2


def test_a_broken_chain_is_not_overlooked() -> None:
    body = {"items": [], "newest": 9, "next_before": None, "verified": "chain", "intact": False, "first_broken": 4}
    assert "Entry 4 was altered" in audit_page.chain(body, {})
    intact = audit_page.chain(body | {"intact": True, "first_broken": None, "verified": "page"}, {"actor": "a"})
    assert "verify=chain" in intact
    assert "actor=a" in intact
    assert "all 9 entries" in audit_page.chain(body | {"intact": True, "first_broken": None}, {})


def test_collectors_are_shown_with_what_they_lack_and_why() -> None:
    one = {"name": "siem", "kind": "syslog", "seq": 7, "lag_entries": 512, "lag_seconds": 61.4, "confirmed_at": None}
    assert audit_page.sinks([]) is None
    late = str(audit_page.sinks([one | {"failures": 2, "error": HOSTILE}]))
    assert "512 entries, 61 s" in late and "not confirmed" in late and "never" in late and HOSTILE not in late
    again = str(audit_page.sinks([one | {"failures": 2, "error": "no route", "next_at": "2026-11-28T10:00:00Z"}]))
    assert "no route" in again and "Tried again" in again and "&lt;time" not in again
    well = one | {"failures": 0, "error": None, "lag_entries": 0, "confirmed_at": "2026-11-28T10:00:00Z"}
    assert "nothing" in str(audit_page.sinks([well])) and "not confirmed" not in str(audit_page.sinks([well]))


def test_groups_are_shown_escaped_and_changed_by_administrators_of_the_tenant_only() -> None:
    listed = {"items": [{"id": "g1", "name": HOSTILE, "members": 2, "created_at": "2026-11-21T10:00:00Z"}], "total": 1}
    shown = user_groups._group_list(listed, {}, changes=True)
    assert "<script>" not in shown and "Make a group" in shown and "group=g1" in shown
    plain = user_groups._group_list(listed, {}, changes=False)
    assert "Make a group" not in plain and "group=g1" not in plain
    assert "There are no groups yet." in user_groups._group_list({"items": [], "total": 0}, {}, changes=True)
    member = {"id": "u1", "email": "a@b.example", "disabled": True, "added_at": "2026-11-21T10:00:00Z"}
    inside = user_groups._group_view("g1", HOSTILE, {"items": [member], "total": 1}, {})
    assert "<script>" not in inside and "disabled" in inside and "Its name stays taken" in inside


def test_limits_are_shown_escaped_with_what_is_used_of_them() -> None:
    rule = {"subject_kind": "group", "subject": "g1", "name": HOSTILE, "resource": "tokens", "window": "month"}
    shown = rate_limits._rules_view({"items": [rule | {"amount": 2e6, "used": 1.5e6}], "defaults": {"chat": 30}})
    assert "<script>" not in shown and "1,500,000 of 2,000,000" in shown and "chat 30" in shown and "Remove" in shown
    assert "There are no rules yet." in rate_limits._rules_view({"items": [], "defaults": {}})
    own = rate_limits._limit_table([rule | {"amount": 30.0, "used": 2.0, "name": ""}], changes=False)
    assert "Remove" not in own and "2 of 30" in own


def test_gv_01_policies_are_shown_with_their_standards_and_escaped() -> None:
    """GV-01, GV-03: only those that are not shipped can be retired."""
    reference = {"standard": "GDPR", "title": "Regulation (EU) 2016/679", "description": HOSTILE}
    one = {
        **{"id": "p1", "version": 2, "name": HOSTILE, "reach": "workspace", "description": HOSTILE},
        **{"pii": {"journals": "mask"}, "classes": [{"name": HOSTILE, "access": ""}], "created_at": None},
        "references_resolved": [reference],
    }
    effective = {"documents": "mark", "journals": "mask"}
    shown = policies.policy_list({"items": [one], "total": 1, "effective": effective})
    assert "<script>" not in shown and "2016/679" in shown and "Retire" in shown and "version 2" in shown
    dated = policies.policy_list({"items": [one | {"created_at": "2026-01-01T00:00:00Z"}], "effective": effective})
    assert "<time" in dated and "&lt;time" not in dated, "a moment is no text"
    plain = policies.policy_list({"items": [one | {"reach": "shipped"}], "total": 1, "effective": effective})
    assert "Retire" not in plain and "mark" in plain
    form = policies.new_policy_form(["gdpr", HOSTILE])
    assert "<script>" not in form and "only tell what it would touch" in form
    effect = {"pages_with_finds": 3, "pages_looked_at": 40, "complete": False, "messages": 5, "runs": 2}
    assert "3 of 40 pages and 5 messages of 2 runs" in policies.effect_note(effect)
    assert "more pages than were looked at" in policies.effect_note(effect)


def test_holds_are_shown_escaped_with_who_put_and_who_released_them() -> None:
    hold = {"id": "h1", "kind": "document", "object_id": HOSTILE, "name": HOSTILE, "reason": HOSTILE, "held_by": "u1"}
    hold |= {"held_by_email": "a@b.example", "held_at": "2026-11-21T10:00:00Z", "released_at": None}
    shown = legal_holds._hold_list({"items": [hold], "total": 1}, {})
    assert "<script>" not in shown and "a@b.example" in shown and "Release" in shown and "Hold something" in shown
    released = {"released_at": "2026-11-22T10:00:00Z", "released_by": "u2", "released_by_email": None}
    shown = legal_holds._hold_list({"items": [hold | released | {"release_reason": HOSTILE}], "total": 1}, {})
    assert "<script>" not in shown and "u2" in shown and "Release …" not in shown


def test_erasures_are_shown_with_what_the_probe_found() -> None:
    one = {"id": "e1", "kind": "person", "subjects": ["u1"], "reason": HOSTILE, "asked_at": "2026-11-21T10:00:00Z"}
    rows = [one | {"done": True, "finds": 0}, one | {"done": True, "finds": 3}, one | {"done": False, "finds": None}]
    shown = erasure_cases.erasure_list({"items": rows, "total": 3}, {})
    assert "<script>" not in shown and "receipt=e1" in shown and "Erase something" in shown
    assert "ids=u1" in shown, "one that was cut off goes on"
    assert "nothing found" in shown and "3 found" in shown and "not finished" in shown
    receipt = {"id": HOSTILE, "erased": {"pages": 3}, "key": {"id": "k1"}}
    shown = erasure_cases.receipt_view("e1", receipt)
    assert "<script>" not in shown and "pages" in shown and "k1" in shown and "Look again" in shown


def test_a_test_of_a_provider_is_shown_escaped_with_what_to_do() -> None:
    one = {"name": "corp", "title": HOSTILE, "kind": "openldap", "addresses": [HOSTILE], "account": HOSTILE}
    one |= {"redirect_uri": None, "domains": [], "groups": [HOSTILE], "rights_hours": None}
    one |= {"rules": [{"claim": "groups", "value": HOSTILE, "workspace": "w", "role": "viewer", "tenant_role": None}]}
    shown = sign_in_sources.source_list([one]) + sign_in_sources.source_view(one)
    assert "<script>" not in shown and "Whom to look for" in shown and "name=corp" in shown
    provider = sign_in_sources.source_view(one | {"kind": "oidc", "rules": []})
    assert "Whom to look for" not in provider and "AOS_AUTH_PUBLIC_URL is not set" in provider
    assert "AOS_AUTH_PROVIDERS_FILE" in sign_in_sources.source_list([])
    checks = [{"name": HOSTILE, "ok": False, "detail": HOSTILE, "fix": HOSTILE, "required": True}]
    checks.append({"name": "pkce", "ok": False, "detail": "", "fix": "Ask.", "required": False})
    person = {
        "subject": "s",
        "email": None,
        "account": None,
        "workspaces": {HOSTILE: "viewer"},
        "tenant_role": "viewer",
    }
    found = {"name": HOSTILE, "ok": False, "checks": checks, "person": person | {"groups": [HOSTILE]}}
    shown = sign_in_sources.test_view(found)
    assert "<script>" not in shown and "advice" in shown and "something is wrong" in shown and "refused" in shown


def test_the_sources_that_somebody_comes_from_are_shown_escaped_each_with_its_end() -> None:
    one = {"id": "u1", "email": HOSTILE}
    link = {"provider": "corp", "subject": HOSTILE, "signed_in_at": None, "workspaces": ["w"], "groups": [HOSTILE]}
    shown = people.link_list(one, [link | {"tenant_role": "operator"}])
    assert shown is not None and "<script>" not in shown and "Unlink" in shown and "operator in the tenant" in shown
    assert people.link_list(one, []) is None, "who is here by hand alone has none"


class ScriptedSessionApi:
    """The API as a section has it: answers by method and path, and what was sent."""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.sent = answers, list[tuple[str, str, Any, dict[str, Any]]]()

    async def get(self, path: str, **query: Any) -> Any:
        return self._answer("GET", path, None, query)

    async def post(self, path: str, body: Any = None, **more: Any) -> Any:
        return self._answer("POST", path, body, more)

    async def put(self, path: str, body: Any) -> Any:
        return self._answer("PUT", path, body, {})

    def _answer(self, method: str, path: str, body: Any, more: dict[str, Any]) -> Any:
        self.sent.append((method, path, body, more))
        found = self.answers[f"{method} {path}"]
        return found.pop(0) if isinstance(found, list) else found


def act(name: str) -> Any:
    return find_act(Role.ADMIN, name)


PLAN = {"kind": "document", "subjects": ["a" * 32], "reason": HOSTILE, "counts": {"pages": 3, HOSTILE: 1}}


async def test_what_would_go_is_shown_before_an_erasure_and_a_word_is_typed_for_it() -> None:
    done = {"id": "e1", "finds": 0}
    api: Any = ScriptedSessionApi(**{"POST /api/erasures": [PLAN, done]})
    typed = {"kind": "document", "which": f"https://aos/console/documents?id={'a' * 32}\n{'a' * 32}", "reason": "r 1"}
    planned = await act("erasures.plan")(api, typed)
    assert "4 rows would go" in planned.said and planned.to is not None and "ids=" + "a" * 32 in planned.to
    (dry,) = api.sent
    assert dry[2:] == ({"kind": "document", "ids": ["a" * 32], "reason": "r 1"}, {"params": {"dry_run": "true"}})
    shown = erasure_cases.plan_view(PLAN)
    assert "<script>" not in shown and "Nothing was erased yet." in shown and "Type erase" in shown
    asked = {**parse_query(planned.to), "ids": "a" * 32}
    with pytest.raises(ApiProblem, match="Nothing was erased"):
        await act("erasures.run")(api, asked | {"word": "yes"})
    assert len(api.sent) == 1, "nothing was sent without the word"
    gone = await act("erasures.run")(api, asked | {"word": "Erase"})
    assert "nothing of it is found" in gone.said and gone.to == "?part=erasures&receipt=e1"
    assert "params" not in api.sent[1][3], "that one was no dry run"
    for wrong in ({"which": ""}, {"reason": " "}):
        with pytest.raises(ApiProblem):
            await act("erasures.plan")(api, typed | wrong)
    assert erasure_cases.split_subjects("person", "a@b.example, c@d.example\na@b.example") == [
        *("a@b.example", "c@d.example")
    ]


async def test_people_and_workspaces_are_found_by_what_they_are_called() -> None:
    people_ = {"items": [{"id": "u0", "email": "joann@b.example"}, {"id": "u1", "email": "ann@b.example"}]}
    api: Any = ScriptedSessionApi(**{"GET /api/users": people_, "GET /api/workspaces": {"items": []}})
    assert await section.find_subject(api, "person", " Ann@b.example ") == "u1"
    known = "0b7f2f3e-6f4b-4c53-9a57-1d2c3b4a5f60"
    assert await section.find_subject(api, "person", known) == known
    assert await section.find_subject(api, "document", f"/console/documents?id={'b' * 32}&page=2") == "b" * 32
    with pytest.raises(ApiProblem):
        await section.find_subject(api, "workspace", "nowhere")


async def test_another_period_shows_what_it_would_delete_before_it_is_set() -> None:
    item = {"kind": "messages", "workspace": HOSTILE, "days": 30, "due": 12, "held": 2, "deleted": 0}
    periods = {"messages": {"days": None, "source": "default"}, "audit": {"days": 365, "source": "tenant"}}
    listed = retention_periods.period_list(periods, [item])
    assert "for good" in listed and "12, 2 held" in listed and "Delete what is due" in listed and "365 days" in listed
    assert "Delete what is due" not in retention_periods.period_list(periods, [])
    form = retention_periods.change_form("audit", periods)
    assert "this workspace" not in form and 'value="365"' in form, "the trail is the tenant's"
    api: Any = ScriptedSessionApi(
        **{"POST /api/retention/preview": {"items": [item]}, "PUT /api/retention": {"periods": periods}}
    )
    typed = {"class": "messages", "days": "30", "level": "workspace"}
    tried = await act("retention.try")(api, typed)
    assert tried.to == "?part=retention&class=messages&days=30&level=workspace"
    shown = retention_periods.effect_view(parse_query(tried.to), [item, item | {"workspace": "w1"}], {"w1": HOSTILE})
    assert "<script>" not in shown and "24 rows would be deleted" in shown and "Nothing was changed yet." in shown
    await act("retention.set")(api, typed)
    body = {"class": "messages", "level": "workspace", "inherit": False, "days": 30}
    assert [(one[0], one[2]) for one in api.sent] == [("POST", body), ("PUT", body)]
    for days, more in (("keep", {"days": None, "inherit": False}), ("inherit", {"days": None, "inherit": True})):
        assert retention_periods.rule_body(typed | {"days": days}) == body | more
    for days in ("", "-1", "soon", "²"):
        with pytest.raises(ApiProblem):
            retention_periods.rule_body(typed | {"days": days})


async def test_a_policy_is_changed_with_its_effect_told_and_keeps_its_classes() -> None:
    one = {"id": "p1", "version": 2, "name": HOSTILE, "reach": "workspace", "description": HOSTILE, "references": []}
    one |= {"pii": {"documents": "mark"}, "classes": [{"name": "secret", "access": ""}]}
    versions = [{"version": 2, "name": HOSTILE, "active": True, "pii": {"documents": "mark"}}]
    shown = policies.policy_view(one, versions)
    assert "<script>" not in shown and "secret" in shown and "documents: mark" in shown
    effect = {"pages_with_finds": 3, "pages_looked_at": 40, "complete": True, "messages": 5, "runs": 2}
    made = {"policy": {"name": "n", "version": 3}, "effect": None}
    route = "PUT /api/data-governance/policies/p1"
    api: Any = ScriptedSessionApi(
        **{"GET /api/data-governance/policies": {"items": [one]}, route: [{"policy": None, "effect": effect}, made]}
    )
    values = {"policy": "p1", "version": "2", "name": "n", "documents": "mask", "references": "", "description": "d"}
    tried = await act("policies.change")(api, values)
    assert "3 of 40 pages" in tried.said and tried.to is None
    done = await act("policies.change")(api, values | {"intent": "make"})
    assert "version 3" in done.said
    sent = [one[2] for one in api.sent if one[0] == "PUT"]
    assert [one["dry_run"] for one in sent] == [True, False]
    assert sent[1]["body"] == {
        **{"description": "d", "references": [], "pii": {"documents": "mask"}},
        "classes": [{"name": "secret", "access": ""}],
    }


async def test_a_long_chain_is_verified_in_slices_and_says_where_to_go_on() -> None:
    first = {"intact": True, "first_broken": None, "reached": 20_000, "next": 20_001, "newest": 30_000}
    last = first | {"reached": 30_000, "next": None}
    api: Any = ScriptedSessionApi(**{"GET /api/audit/verify": [first, last]})
    found = await audit_page.verify_chain(api, 1, lambda: 0.0)
    assert (found["intact"], found["left_at"]) == (True, None)
    assert [one[3]["from"] for one in api.sent] == [1, 20_001]
    assert "all 30,000 entries" in audit_page.chain(found, {})
    seconds = iter((0.0, 31.0))
    api = ScriptedSessionApi(**{"GET /api/audit/verify": [dict(first)]})
    found = await audit_page.verify_chain(api, 1, lambda: next(seconds))
    shown = audit_page.chain(found, {})
    assert "entries 1 to 20,000 of 30,000" in shown and "after=20000" in shown and "Go on with it" in shown
    api = ScriptedSessionApi(**{"GET /api/audit/verify": [first | {"intact": False, "first_broken": 7}]})
    assert "Entry 7 was altered" in audit_page.chain(await audit_page.verify_chain(api, 1, lambda: 0.0), {})
