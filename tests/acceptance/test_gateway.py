"""The gateway over real HTTP through Serve: a file becomes a cited answer whose page opens; a job is followed."""

import io
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from PIL import Image

pytestmark = pytest.mark.acceptance
REPORT = Path(__file__).resolve().parents[1] / "samples" / "annual-report-2025.pdf"
QUESTION = "How long did the longest interruption of supply last?"
ANSWER = "3 hours and 41 minutes"


@pytest.fixture
def office(http: httpx.Client) -> httpx.Client:
    """In a workspace in which nobody has put the samples yet."""
    made = http.post("/api/workspaces", json={"name": f"office {uuid4().hex[:6]}"})
    assert made.status_code == 201, made.text
    http.headers["X-Workspace"] = made.json()["id"]
    return http


def upload(http: httpx.Client, filename: str, content: bytes, wait: int = 0) -> tuple[int, dict[str, Any]]:
    reply = http.post("/api/documents/upload", params={"wait": wait}, files={"file": (filename, content)})
    body: dict[str, Any] = reply.json()
    return reply.status_code, body


def plain(text: str) -> str:
    return " ".join(text.split())


def events(http: httpx.Client, job: str, after: int | None = None) -> tuple[int, list[tuple[int, str, dict[str, Any]]]]:
    """The job's stream to its end: status, and (id, type, payload) of each event."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    found: list[tuple[int, str, dict[str, Any]]] = []
    with http.stream("GET", f"/api/jobs/{job}/events", headers=headers) as reply:
        fields: dict[str, str] = {}
        for line in reply.iter_lines():
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
                fields = {}
        return reply.status_code, found


def test_a_file_becomes_an_answer_whose_cited_page_opens(office: httpx.Client) -> None:
    """GW-09, GW-13: upload and wait, search, ask, and the citation's page as text and as a picture."""
    status, uploaded = upload(office, REPORT.name, REPORT.read_bytes(), wait=60)
    assert (status, uploaded["status"]) == (200, "completed"), uploaded
    found = office.post("/api/documents/search", json={"query": QUESTION, "limit": 5}).json()
    assert uploaded["document_id"] in {hit["document_id"] for hit in found["results"]}
    assert found["vector"] != "off" and found["generation"] is not None

    answer = office.post("/api/ask", json={"question": QUESTION}).json()
    cited = [one for one in answer["citations"] if one["document_id"] == uploaded["document_id"]]
    assert any(ANSWER in plain(one["quote"]) for one in cited), answer
    for one in cited:
        page = office.get(f"/api/documents/{one['document_id']}/pages/{one['page']}").json()
        assert page["text"][one["start"] : one["end"]] == one["quote"]
        assert one["boxes"], "a page with a geometry says where the quote stands"
        image = office.get(page["image"])
        assert (image.status_code, image.headers["content-type"]) == (200, "image/png")
        with Image.open(io.BytesIO(image.content)) as picture:
            assert picture.format == "PNG" and min(picture.size) > 500

    status, again = upload(office, "the-same.pdf", REPORT.read_bytes())
    assert (status, again["status"], again["document_id"]) == (200, "duplicate", uploaded["document_id"])


def test_a_text_without_a_word_is_not_reported_as_completed(office: httpx.Client) -> None:
    """Document, job and the job's end on its stream say so, through the worker as it is deployed."""
    status, uploaded = upload(office, "blank.txt", b" \n\t\n", wait=60)
    assert (status, uploaded["status"]) == (200, "degraded"), uploaded
    (told,) = office.get(f"/api/documents/{uploaded['document_id']}").json()["caveats"]
    assert (told["kind"], told["weight"]) == ("no_text", "unsure") and told["detail"]
    job = office.get(f"/api/jobs/{uploaded['job_id']}").json()
    assert (job["state"], job["caveats"]) == ("partial", {"no_text": 1})
    assert (job["outcome"]["degraded"], job["documents"]["expected"]) == (1, 1)
    _, events_ = events(office, uploaded["job_id"])
    assert events_[-1][1] == "partial" and events_[-1][2]["outcome"] == job["outcome"]


def test_kg_02_what_the_worker_indexes_is_in_the_graph(office: httpx.Client) -> None:
    """KG-02: the worker's own assembly makes the graph, and each entity says where it is named."""
    text = b"Northgate Turbines GmbH uses rotors of Harbour Light AG. Mira Olsen leads Northgate Turbines GmbH."
    status, uploaded = upload(office, "suppliers.txt", text, wait=60)
    assert (status, uploaded["status"]) == (200, "completed"), uploaded
    _, told = events(office, uploaded["job_id"])
    stages = [payload for _, kind, payload in told if kind == "progress"]
    assert stages[-1]["graph"]["done"] == 1, told
    (entity,) = office.get("/api/graph", params={"search": "Northgate Turbines"}).json()["items"]
    mentions = office.get(f"/api/graph/entities/{entity['id']}").json()["mentions"]
    assert uploaded["document_id"] in {one["document_id"] for one in mentions}


def test_in_12_a_scan_is_answered_from_with_its_confidence(office: httpx.Client) -> None:
    """IN-12: what OCR reads goes straight into search and answers, with how sure it was."""
    scan = REPORT.with_name("board-minutes-scan.pdf")
    status, uploaded = upload(office, scan.name, scan.read_bytes(), wait=60)
    assert (status, uploaded["status"]) == (200, "completed"), uploaded
    question = "What repair budget did the board approve for turbine four?"
    (cited, *_) = office.post("/api/ask", json={"question": question}).json()["citations"]
    assert (cited["filename"], cited["page"]) == (scan.name, 1) and "48,600" in cited["quote"]
    assert 0.8 < cited["ocr_confidence"] < 1


def test_a_job_is_followed_and_taken_up_again_where_the_reader_left(office: httpx.Client) -> None:
    """Events come as they are written, numbered without gaps; Last-Event-ID goes on after that one."""
    status, started = upload(office, "gates.md", b"# Gates\n\nThe northern sluice gate opens at seven metres.\n")
    assert (status, started["status"]) == (202, "pending")
    job = started["job_id"]
    status, told = events(office, job)
    assert status == 200
    assert [number for number, _, _ in told] == list(range(1, len(told) + 1))
    assert (told[0][1], told[-1][1], told[-1][2]["read"]["done"]) == ("queued", "completed", 1)
    assert events(office, job, after=1) == (200, told[1:])
    assert events(office, job, after=told[-1][0]) == (204, [])
    assert office.get(f"/api/jobs/{job}").json()["pages"] == {"expected": 1, "done": 1, "failed": 0, "unchanged": 0}
    assert office.get(f"/api/jobs/{job}/events", headers={"Authorization": "Bearer nobody"}).status_code == 401
