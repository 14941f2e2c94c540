"""Which limit holds for whom, which rules are refused, and in which class a request is counted."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.limits.limit_errors import RateLimited, limit_headers
from cluster.state.limits.request_counts import LimitState
from cluster.state.limits.rules import (
    BadLimit,
    LimitedCaller,
    LimitedResource,
    LimitRule,
    LimitWindow,
    SubjectKind,
    check_rule,
    find_rule,
    period_end,
    period_start,
)
from configs.sections_limits import LimitSettings
from serve_apps.http.auth.permissions import ADMINISTER, OPERATE, PUBLIC, READ, SYSTEM, TENANT
from serve_apps.http.auth.request_limits import class_of
from tests.fakes.http import MATRIX

ANN = LimitedCaller(TenantId("t"), WorkspaceId("w"), UserId("ann"), "k1", ("finance", "sales"))
SETTINGS = LimitSettings()


def rule(kind: SubjectKind | None, subject: str, amount: float, window: str = "minute", name: str = "") -> LimitRule:
    return LimitRule(LimitedResource.CHAT, kind, subject, Decimal(str(amount)), LimitWindow(window), name)


def test_the_most_specific_rule_wins_and_of_several_groups_the_most_generous() -> None:
    rules = [
        rule(SubjectKind.TENANT, "t", 1000),
        rule(SubjectKind.WORKSPACE, "w", 500),
        rule(SubjectKind.GROUP, "g1", 90, name="finance"),
        rule(SubjectKind.GROUP, "g2", 2, "second", "sales"),  # 120 a minute
        rule(SubjectKind.USER, "ann", 7),
        rule(SubjectKind.KEY, "k1", 3),
        rule(SubjectKind.USER, "bob", 9999),
    ]
    chosen = []
    while rules:
        found = find_rule(rules, ANN, LimitedResource.CHAT, SETTINGS)
        assert found is not None
        chosen.append((found.subject_kind, int(found.amount)))
        if found.kind is None:
            break
        rules.remove(found)
    assert chosen == [
        ("key", 3),
        ("user", 7),
        ("group", 2),
        ("group", 90),
        ("workspace", 500),
        ("tenant", 1000),
        ("caller", 30),
    ]


def test_a_default_is_each_callers_own_and_zero_is_none() -> None:
    person = LimitedCaller(ANN.tenant, ANN.workspace, ANN.user)
    of_key, of_person = (find_rule((), one, LimitedResource.REQUESTS, SETTINGS) for one in (ANN, person))
    assert of_key is not None and of_person is not None
    assert of_key.counted_as != of_person.counted_as and of_key.amount == of_person.amount == 60
    assert find_rule((), ANN, LimitedResource.UPLOADS, SETTINGS) is None
    assert find_rule((), ANN, LimitedResource.TOKENS, SETTINGS) is None
    nobody = LimitedCaller(ANN.tenant, ANN.workspace)
    assert find_rule((), nobody, LimitedResource.CHAT, SETTINGS) is None


def test_a_scope_tells_its_groups() -> None:
    scope = Scope(
        TenantId("t"), WorkspaceId("w"), ("user:a@b", "group:finance", "role:viewer"), UserId("u"), Role.VIEWER
    )
    assert LimitedCaller.of_scope(scope).groups == ("finance",)


@pytest.mark.parametrize(
    ("kind", "resource", "amount", "window"),
    [
        ("user", "chat", "-1", "minute"),
        ("user", "chat", "1.5", "minute"),
        ("user", "chat", "1e16", "minute"),
        ("user", "chat", "NaN", "minute"),
        ("user", "chat", "10", "at_once"),
        ("user", "tokens", "10", "second"),
        ("user", "streams", "10", "minute"),
        ("key", "tokens", "10", "day"),
        ("key", "jobs", "10", "at_once"),
        ("tenant", "sign_in", "10", "minute"),
    ],
)
def test_a_rule_that_could_not_be_kept_is_refused(kind: str, resource: str, amount: str, window: str) -> None:
    with pytest.raises(BadLimit) as refused:
        check_rule(SubjectKind(kind), LimitedResource(resource), Decimal(amount), LimitWindow(window))
    assert refused.value.detail


def test_money_may_have_cents() -> None:
    check_rule(SubjectKind.USER, LimitedResource.USD, Decimal("0.25"), LimitWindow.DAY)


@pytest.mark.parametrize(
    ("window", "now", "start", "end"),
    [
        ("minute", "2026-12-31T23:59:59.999999", "2026-12-31T23:59", "2027-01-01T00:00"),
        ("hour", "2026-12-31T23:00:00", "2026-12-31T23:00", "2027-01-01T00:00"),
        ("day", "2028-02-28T00:00:00", "2028-02-28T00:00", "2028-02-29T00:00"),
        ("month", "2028-02-29T23:59:59", "2028-02-01T00:00", "2028-03-01T00:00"),
        ("month", "2026-12-31T00:00:00", "2026-12-01T00:00", "2027-01-01T00:00"),
    ],
)
def test_periods_begin_and_end_at_the_edges_of_the_clock(window: str, now: str, start: str, end: str) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert period_start(LimitWindow(window), at) == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert period_end(LimitWindow(window), at) == datetime.fromisoformat(end).replace(tzinfo=UTC)
    assert period_start(LimitWindow(window), period_end(LimitWindow(window), at)) == period_end(LimitWindow(window), at)


def test_gw_22_paths_have_the_numbers_of_the_specification() -> None:
    expected = {
        ("POST", "/v1/chat/completions", READ): ("chat", 30),
        ("POST", "/api/v1/agents/process", READ): ("agents", 20),
        ("POST", "/api/agents", OPERATE): ("agents", 20),
        ("POST", "/api/users", TENANT): ("admin_api", 30),
        ("POST", "/api/credentials", ADMINISTER): ("admin_api", 30),
        ("PUT", "/api/admin/config", SYSTEM): ("admin", 10),
        ("POST", "/api/documents/search", READ): ("requests", 60),
    }
    for (method, path, access), (resource, amount) in expected.items():
        found = class_of((method, path), access)
        assert found is not None and found == resource
        assert getattr(SETTINGS, found) == amount


def test_watching_reconnecting_and_uploading_are_not_counted_as_requests() -> None:
    for path in ("/health", "/metrics", "/api/admin/health"):
        assert class_of(("GET", path), PUBLIC) is None
    assert class_of(("GET", "/api/jobs/{job_id}/events"), READ, streams=True) is None
    assert class_of(("POST", "/api/documents/upload"), READ) is LimitedResource.UPLOADS and SETTINGS.uploads == 0
    reads = {path for (method, path), access in MATRIX.items() if method == "GET" and not access.public}
    counted = {class_of(("GET", path), READ) for path in reads}
    assert counted == {None, LimitedResource.READS}


def test_a_refusal_says_what_was_exceeded_and_its_headers_are_structured_fields() -> None:
    refused = RateLimited(rule(SubjectKind.GROUP, "g1", 90, name="finance"), 12.3)
    assert refused.limit == {
        "resource": "chat",
        "amount": 90,
        "window": "minute",
        "subject_kind": "group",
        "subject": "g1",
    }
    assert refused.retry_after == 13 and "this group may have 90 chat a minute" in refused.detail
    assert refused.headers["RateLimit-Policy"].startswith('"chat";q=90;w=60;pk=:')
    assert refused.headers["RateLimit"] == '"chat";r=0;t=13'
    assert limit_headers(LimitState(rule(None, "u", 5), True, 4, 0.2, local=True))["RateLimit"].endswith(";aos-local")
