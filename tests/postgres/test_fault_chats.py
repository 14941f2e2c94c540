"""The calls by which `aos chaos` chats, against the real routes: a conversation, its runs, its approvals."""

from uuid import uuid4

import httpx


async def test_a_conversation_of_one_name_is_begun_once_and_has_its_runs_and_approvals(
    operator: httpx.AsyncClient,
) -> None:
    body = {"session_id": "chaos-7-1", "agent_id": "assistant"}
    sessions = [(await operator.post("/v1/agent/sessions", json=body)).json()["session_id"] for _ in range(2)]
    assert len(set(sessions)) == 1, "a second request, as after a broken one, finds the same"
    runs = await operator.get("/api/runs", params={"session_id": sessions[0], "mine": True})
    assert (runs.status_code, runs.json()["items"]) == (200, [])
    approvals = await operator.get("/api/approvals", params={"run_id": str(uuid4()), "state": "pending"})
    assert (approvals.status_code, approvals.json()["items"]) == (200, [])
