"""The cases of the API, asked of a running product: upload names, shares, and what OpenAI's clients send."""

import io
import subprocess
import sys
import urllib.parse
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.evals.cases.given import read_cases
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say
from tests.instance import AOS, Instance, instance

INTERNALS = ("functools", "validator", "0x7f", "function-after", "pydantic")
CHAT = "/v1/chat/completions"


def api_cases(folder: Path) -> Mapping[str, str]:
    """What is wrong with each case, empty where nothing is; `folder` holds those that are given as scripts."""
    results: dict[str, str] = {}
    with serve_model(Say("I heard: Good morning")) as model:
        host = model.root.removeprefix("http://")
        env = {"LLM_BASE_URL": model.url, "LLM_DEFAULT_MODEL": "scripted-1", "AOS_MODELS_ALLOW": host}
        with instance(**env) as made:
            for name, case in _CASES.items():
                results[name] = case(made, model, folder)
    return results


def _upload_name(made: Instance, model: ModelServer, folder: Path) -> str:
    """As .NET sends it: an encoded word in `filename`, the true name in `filename*`."""
    name = "Zählerstände Süd.csv"
    word = f"=?utf-8?B?{b64encode(name.encode()).decode()}?="
    head = (
        f"Content-Disposition: form-data; name=file; filename=\"{word}\"; filename*=utf-8''{urllib.parse.quote(name)}"
    )
    body = f"--B\r\n{head}\r\n\r\nZähler;Stand\nA1;4711\nA2;4712\n\r\n--B--\r\n".encode()
    kind = {"Content-Type": 'multipart/form-data; boundary="B"'}
    reply = made.http.post("/api/documents/upload?wait=60", content=body, headers=kind)
    reply.raise_for_status()
    shown = made.http.get(f"/api/documents/{reply.json()['document_id']}").json()
    return _unlike("name and type", (shown["filename"], shown["file_type"]), (name, "csv"))


def _share(made: Instance, model: ModelServer, folder: Path) -> str:
    """A folder as a Windows share has it: one document, and what Word, Windows and LibreOffice leave beside it."""
    place = Path(made.env["AOS_STATE_DIR"]).parent / "share"
    subprocess.run(["sh", str(folder / "33-lock-files-on-a-share" / "make.sh"), str(place)], check=True)
    job = made.ingest(place)
    names = [name for (name,) in made.rows("select filename from documents where origin like %s", f"%{place}%")]
    env = {**made.env, "AOS_TOKEN": made.http.headers["Authorization"].removeprefix("Bearer ")}
    dry = subprocess.run([AOS, "ingest", str(place), "--dry-run"], env=env, capture_output=True, text=True, check=False)
    wrong = _unlike("the job", job["state"], "completed") or _unlike("documents", names, ["Bericht.txt"])
    return wrong or ("" if "passed over" in dry.stdout else f"the dry run does not say it: {dry.stdout + dry.stderr!r}")


def _stop(made: Instance, model: ModelServer, folder: Path) -> str:
    """What a client asks of the sampling reaches the model, or is refused; nothing is dropped in silence."""
    sampling = {
        "stop": ["morning"],
        "top_p": 0.5,
        "seed": 7,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "logprobs": True,
    }
    for name, value in sampling.items():
        model.requests.clear()
        message = {"role": "user", "content": f"Good morning ({name})"}
        reply = made.http.post(CHAT, json={"model": "assistant", "messages": [message], name: value})
        if 400 <= reply.status_code < 500:
            if name in reply.text:
                continue
            return f"{name} is refused without being named: {reply.text[:200]}"
        answer = reply.json()["choices"][0]["message"]["content"] if reply.is_success else reply.text
        acted = name == "stop" and "morning" not in answer
        if not acted and not any(name in request.body for request in model.requests if isinstance(request.body, dict)):
            return f"{name} was dropped"
    return ""


def _token_arrays(made: Instance, model: ModelServer, folder: Path) -> str:
    """LangChain's client sends numbers of tokens; the answer says in a sentence to send text."""
    body = {"model": "all-MiniLM-L6-v2", "input": [[47, 372, 375]], "encoding_format": "base64"}
    reply = made.http.post("/v1/embeddings", json=body)
    return _plainly_refused(reply, "text")


def _too_large(made: Instance, model: ModelServer, folder: Path) -> str:
    """A body above the limit is refused with the limit in the sentence, and a fix."""
    limit = made.settings.read.max_file_bytes
    large = {"file": ("large.csv", io.BytesIO(b"1;2\n" * (60 * 2**18)), "text/csv")}
    reply = made.http.post("/api/documents/upload", files=large)
    if reply.status_code == 202 or reply.is_success:
        return "" if limit > 60 * 2**20 else "taken although it is above the limit"
    problem = reply.json()
    told = reply.status_code == 413 and problem.get("detail") and problem.get("fix")
    return "" if told else f"{reply.status_code} {reply.text[:200]}"


def _slash(made: Instance, model: ModelServer, folder: Path) -> str:
    """An agent whose name holds a slash can be retrieved as a model."""
    made.http.post("/api/agents", json={"name": "Prüf/Süd", "whole_workspace": True}).raise_for_status()
    reply = made.http.get("/v1/models/Pr%C3%BCf%2FS%C3%BCd")
    return "" if reply.is_success and reply.json()["id"] == "Prüf/Süd" else f"{reply.status_code} {reply.text[:200]}"


def _chat_models(made: Instance, model: ModelServer, folder: Path) -> str:
    """What does not chat is not offered beside what does, or is refused by saying what it is."""
    listed = [row["id"] for row in made.http.get("/v1/models").json()["data"]]
    body = {"model": "all-MiniLM-L6-v2", "messages": [{"role": "user", "content": "hi"}]}
    reply = made.http.post(CHAT, json=body)
    if "all-MiniLM-L6-v2" in listed and "embed" not in reply.text.lower():
        return f"listed, and refused without saying why: {reply.text[:200]}"
    return "" if reply.status_code in (400, 404) else f"{reply.status_code}"


def _picture(made: Instance, model: ModelServer, folder: Path) -> str:
    """A picture in a message is refused in words, not in the validator's."""
    parts = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iV"}},
    ]
    reply = made.http.post(CHAT, json={"model": "assistant", "messages": [{"role": "user", "content": parts}]})
    return _plainly_refused(reply, "picture", "image")


def _chinese(made: Instance, model: ModelServer, folder: Path) -> str:
    """A word of a Chinese sentence is found by its words, in quotes, too."""
    case = next(case for case in read_cases(folder.parent / "read") if case.path.name == "zh-doc.txt")
    sent = {"file": (case.path.name, case.path.read_bytes(), "text/plain")}
    made.http.post("/api/documents/upload?wait=60", files=sent).raise_for_status()
    for query in ("冷却水泵", '"工作压力"'):
        reply = made.http.post("/api/documents/search", json={"query": query, "explain": True})
        hits: list[dict[str, Any]] = reply.json()["results"]
        own = [hit for hit in hits if "冷却水泵" in hit.get("text", hit.get("content", ""))]
        if not own or not any("keyword" in str(hit) or "bm25" in str(hit).lower() for hit in own):
            return f"{query}: not found by words"
    return ""


def _plainly_refused(reply: httpx.Response, *words: str) -> str:
    if not 400 <= reply.status_code < 500:
        return f"{reply.status_code} instead of a refusal"
    inside = [word for word in INTERNALS if word in reply.text]
    return (
        f"tells of its inside: {inside}"
        if inside
        else ""
        if any(w in reply.text.lower() for w in words)
        else reply.text
    )


def _unlike(what: str, found: object, wanted: object) -> str:
    return "" if found == wanted else f"{what}: {found!r} instead of {wanted!r}"


_CASES: Mapping[str, Callable[[Instance, ModelServer, Path], str]] = {
    "31 upload name": _upload_name,
    "33 lock files on a share": _share,
    "34 stop and sampling": _stop,
    "35 token arrays": _token_arrays,
    "36 file too large": _too_large,
    "37 a slash in a name": _slash,
    "37 only what chats is a chat model": _chat_models,
    "37 a picture in a message": _picture,
    "29 Chinese words": _chinese,
}

if __name__ == "__main__":
    for shown, fault in api_cases(Path(sys.argv[1])).items():
        print(shown, fault or "right")
