"""A chat over HTTP and everything below it are one trace."""

from pathlib import Path

from cluster.basics.scope import Role
from serve_apps.agents.durable.traced import TracedOrchestrator
from tests.fakes.collector import Watched
from tests.fakes.http import make_parts, open_office, serve
from tests.fakes.orchestrator import ScriptedOrchestrator

ABOVE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_ob_01_a_request_and_its_turn_are_one_trace(app_dsn: str, admin_dsn: str, tmp_path: Path) -> None:
    """OB-01: also streamed; route and status are in the span, ids and words are not."""
    watched, below = Watched(), ScriptedOrchestrator()
    orchestrator = TracedOrchestrator(below, watched.telemetry)
    office = open_office(admin_dsn)
    async with serve(make_parts(app_dsn, tmp_path, telemetry=watched.telemetry, orchestrator=orchestrator)) as api:
        client = await api.sign_in(office.emails[Role.VIEWER])
        for stream in (False, True):
            answer = await client.post(
                "/api/chat/assistant", json={"message": "a secret", "stream": stream}, headers={"traceparent": ABOVE}
            )
            assert answer.status_code == 200, answer.text
        assert (await client.get("/api/runs/nothing")).status_code == 422
    route = "POST /api/chat/{agent_id}"
    assert watched.parent(route) == "elsewhere" and watched.parent("orchestrator process") == route
    attributes = watched.spans[route].attributes or {}
    assert (attributes["http.route"], attributes["http.response.status_code"]) == ("/api/chat/{agent_id}", 200)
    told = [incoming.options["traceparent"] for _, incoming in below.asked]
    assert len(told) == 2 and {one.split("-")[1] for one in told} == {ABOVE.split("-")[1]}
    assert "a secret" not in "".join(str(span.to_json()) for span in watched.spans.values())
    assert watched.figure("aos.errors") == 0
