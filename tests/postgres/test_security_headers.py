"""What browsers may do with answers of the API: nothing, except on /docs, which still works without the internet."""

import base64
import re
from hashlib import sha256

from cluster.basics.scope import Role
from tests.fakes.http import Api, Office

STRICT = "default-src 'none'; frame-ancestors 'none'"


async def test_every_answer_says_that_it_is_no_page(api: Api, office: Office) -> None:
    """Answers, refusals, what was not found, an error that nobody named, and a stream."""
    client = await api.sign_in(office.emails[Role.OPERATOR])
    job = (await client.post("/api/documents/batch-scan", json={"path": "."})).json()["job_id"]
    await client.post(f"/api/jobs/{job}/cancel")
    api.parts.orchestrator.script = lambda incoming: [ZeroDivisionError("inside")]  # type: ignore[attr-defined]
    broken = client.post("/api/chat/Clerk", json={"message": "hi"})
    answers = [
        await api.client.get("/health"),
        await api.client.get("/api/agents"),
        await api.client.get("/nowhere"),
        await client.get("/api/agents"),
        await client.post("/api/chat/x", content=b"{"),
        await broken,
        await api.client.get("/openapi.json"),
        await api.client.get("/docs-assets/swagger-ui.css"),
        await client.get(f"/api/jobs/{job}/events"),
    ]
    assert {one.status_code for one in answers} >= {200, 401, 404, 422, 500}
    for one in answers:
        assert one.headers["X-Content-Type-Options"] == "nosniff", one.request.url
        assert one.headers["Referrer-Policy"] == "no-referrer"
        assert one.headers["Content-Security-Policy"] == STRICT


async def test_the_page_of_documentation_may_do_what_it_needs_and_no_more(api: Api) -> None:
    page = await api.client.get("/docs")
    policy = page.headers["Content-Security-Policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    assert f"'sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}'" in policy
    assert "unsafe-inline" not in policy.partition("style-src")[0] and "https:" not in policy
    assert "connect-src 'self'" in policy and "frame-ancestors 'none'" in policy
    for source in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        assert (await api.client.get(source)).status_code == 200, "from here, as the policy asks"
