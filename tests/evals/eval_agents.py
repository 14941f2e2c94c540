"""`make eval-agents`: tool calls read out of what models write, and claims of work that nobody did.

Calls are BFCL's possible answers, rendered in each syntax with noise around them, and what models really wrote. The
texts that hold none are BFCL's questions about irrelevant tools, plain answers, and prose about tools.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.models.messages import ModelReply, ToolCall, ToolSpec
from serve_apps.agents.parsing.parse_reply import parse_reply
from serve_apps.agents.parsing.parsed_reply import ParsedReply
from serve_apps.agents.turn.recovery import FUTURE, PAST, find_claim
from tests.evals.agents_render import NATIVE, PROSE, TEXTUAL, Rendered, noisy, prose
from tests.evals.report import ROOT, Report

GOAL_NATIVE = "≥ 99 % of native tool calls parsed to name and arguments"
GOAL_TEXT = (
    "≥ 95 % of textual tool calls (fenced JSON in content, bare JSON, python-style calls, <tool_call>, Thought/Action"
    " transcripts, lists, prose around calls) parsed to name and arguments"
)
GOAL_MANY = "BFCL's possible answers rendered in each syntax with noise around them (≥ 1,000)"
GOAL_NONE = "0 calls invented from texts that hold none"
GOAL_CLAIMS = "false-completion precision and recall printed on tau_airline/final_claims.jsonl"
SETS = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_parallel")
WRITING = re.compile(r"^(?:book|update|cancel|send)_")
Wanted = list[tuple[str, Mapping[str, Any]]]


@dataclass
class Tally:
    """Calls wanted and read, by kind of text, and what went wrong."""

    wanted: Counter[str]
    read: Counter[str]
    misses: list[str]

    def add(self, kind: str, wanted: Wanted, parsed: ParsedReply, text: str) -> None:
        """Compare in order; a call counts if name and arguments are the same."""
        got = [(call.name, dict(call.arguments)) for call in parsed.calls if call.problem is None]
        self.wanted[kind] += len(wanted)
        right = sum(any(_same(one, other) for other in got) for one in wanted)
        if len(got) > len(wanted):
            right -= len(got) - len(wanted)
        self.read[kind] += max(right, 0)
        if right < len(wanted):
            self.misses.append(f"[{kind}] wanted {wanted}\n  got {got} {[c.problem for c in parsed.calls]}\n  {text!r}")

    def share(self, kinds: set[str]) -> float | None:
        """Read of wanted, in percent."""
        wanted = sum(self.wanted[kind] for kind in kinds)
        return 100 * sum(self.read[kind] for kind in kinds) / wanted if wanted else None


def _same(one: tuple[str, Mapping[str, Any]], other: tuple[str, Mapping[str, Any]]) -> bool:
    return one[0] == other[0] and _plain(one[1]) == _plain(other[1])


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def lines(path: Path) -> Iterator[Any]:
    """Each line's JSON."""
    with path.open(encoding="utf-8") as opened:
        yield from (json.loads(line) for line in opened if line.strip())


def bfcl(folder: Path) -> Iterator[tuple[list[ToolSpec], Wanted]]:
    """Tools and one possible answer of each question; optional arguments that may be left out are."""
    for name in SETS:
        answers = {row["id"]: row["ground_truth"] for row in lines(folder / "possible_answer" / f"{name}.jsonl")}
        for row in lines(folder / f"{name}.jsonl"):
            if row["id"] in answers:
                yield specs(row["function"]), [_chosen(one) for one in answers[row["id"]]]


def _chosen(answer: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    ((name, given),) = answer.items()
    return name, {key: _first(values) for key, values in given.items() if values and "" not in values}


def _first(values: Any) -> Any:
    value = values[0]
    if isinstance(value, dict):
        return {key: _first(inner) for key, inner in value.items() if isinstance(inner, list) and "" not in inner}
    if isinstance(value, list):
        return [_first([item]) for item in value]
    return value


def specs(functions: list[Mapping[str, Any]]) -> list[ToolSpec]:
    """Tools as BFCL and others list them."""
    return [ToolSpec(one["name"], one.get("description", ""), one.get("parameters") or {}) for one in functions]


def rendered(folder: Path, rng: random.Random, tally: Tally) -> int:
    """Each question in three textual syntaxes and one native one, all syntaxes in turn."""
    count = 0
    for number, (tools, wanted) in enumerate(bfcl(folder)):
        for turn in range(3):
            render = TEXTUAL[(number * 3 + turn) % len(TEXTUAL)]
            made: Rendered | None = render(wanted, rng)
            if made is None:
                continue
            text = noisy(made, rng)
            tally.add(f"text:{render.__name__}", wanted, parse_reply(ModelReply(text), tools, f"{number}.{turn}"), text)
            count += 1
        native = NATIVE[number % len(NATIVE)]
        calls = tuple(ToolCall(f"c{at}", name, native(given)) for at, (name, given) in enumerate(wanted))
        reply = ModelReply("", calls, "tool_calls")
        tally.add(f"native:{native.__name__}", wanted, parse_reply(reply, tools, str(number)), str(calls))
        count += 1
    return count


def recorded(folder: Path, tally: Tally) -> tuple[int, list[tuple[str, str, list[ToolSpec]]]]:
    """What models really wrote: calls go into the tally; returns how many, and texts that hold none."""
    empty = list[tuple[str, str, list[ToolSpec]]]()
    before = sum(tally.wanted.values())
    _airline(folder / "tau_airline", tally, empty)
    _hotpot(folder / "react_hotpot_gpt35_trial1.jsonl", tally)
    _toolbench(folder / "toolbench_gpt35_cot_G1_tool.jsonl", tally, empty)
    for name in ("0.5b", "1.5b"):
        _qwen(folder / f"qwen_recorded_qwen2.5-coder-{name}.jsonl", tally, empty)
    return sum(tally.wanted.values()) - before, empty


def _airline(folder: Path, tally: Tally, empty: list[tuple[str, str, list[ToolSpec]]]) -> None:
    runs = [run for number in (0, 1) for run in lines(folder / f"gpt4o_trajectories.{number}.jsonl")]
    said = [message for run in runs for message in run["messages"] if message["role"] == "assistant"]
    seen = defaultdict[str, set[str]](set)
    for message in said:
        for call in message.get("tool_calls") or ():
            seen[call["function"]["name"]] |= set(json.loads(call["function"]["arguments"]))
    tools = [ToolSpec(name, name, _schema({key: {} for key in sorted(keys)})) for name, keys in seen.items()]
    for message in said:
        calls = [one["function"] for one in message.get("tool_calls") or ()]
        if calls:
            made = tuple(ToolCall("", call["name"], call["arguments"]) for call in calls)
            wanted: Wanted = [(call["name"], json.loads(call["arguments"])) for call in calls]
            tally.add(
                "native:airline",
                wanted,
                parse_reply(ModelReply(message["content"] or "", made), tools, "a"),
                str(calls),
            )
        elif message["content"]:
            empty.append(("airline", message["content"], tools))
    empty += [("claims", row["final_assistant_text"], tools) for row in lines(folder / "final_claims.jsonl")]


def _hotpot(path: Path, tally: Tally) -> None:
    """Each turn of a transcript, and each transcript as a whole, of which only the first action counts."""
    entity = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tools = [ToolSpec(name, name, entity) for name in ("Search", "Lookup", "Finish")]
    for row in lines(path):
        first: Wanted | None = None
        for turn in re.split(r"^Observation \d+:.*\n", row["text"], flags=re.MULTILINE):
            action = re.search(r"^Action \d+: (\w+)\[(.*)\]\s*$", turn, re.MULTILINE)
            if action is None:
                continue
            inside = action[2].strip()
            bare = inside[1:-1] if len(inside) > 1 and inside[0] == inside[-1] and inside[0] in "\"'" else inside
            wanted: Wanted = [(action[1], {"text": bare})]
            first = first or wanted
            tally.add("text:hotpot turn", wanted, parse_reply(ModelReply(turn), tools, "h"), turn)
        if first:
            tally.add("text:hotpot whole", first, parse_reply(ModelReply(row["text"]), tools, "h"), row["text"][:400])


def _toolbench(path: Path, tally: Tally, empty: list[tuple[str, str, list[ToolSpec]]]) -> None:
    for row in lines(path):
        tools = specs(row["available_tools"])
        offered = {tool.name for tool in tools}
        nodes = [node for top in row["answer"]["answer_details"] for node in _nodes(top)]
        for node in nodes:
            if node["role"] == "assistant" and node["message"]:
                empty.append(("toolbench", node["message"], tools))
            call = re.match(r"\{'name': '([^']*)', 'arguments': '(.*)', 'response':", node["message"], re.DOTALL)
            if node["role"] != "tool" or call is None or call[1] not in offered:
                continue
            raw = call[2].replace("\\n", "\n").replace("\\'", "'").replace("\\\\", "\\")
            try:
                given = json.loads(raw, strict=False)
            except ValueError:
                continue  # cut off in the recording
            if isinstance(given, dict):
                reply = ModelReply("", (ToolCall("", call[1], raw),))
                tally.add("native:toolbench", [(call[1], given)], parse_reply(reply, tools, "t"), raw)


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for following in node.get("next") or ():
        yield from _nodes(following)


def _qwen(path: Path, tally: Tally, empty: list[tuple[str, str, list[ToolSpec]]]) -> None:
    """Small models: the first labelled action of a transcript, or the JSON in their content."""
    text, whole = {"type": "string"}, {"type": "integer"}
    tools = [
        ToolSpec("search_documents", "", _schema({"query": text, "top_k": whole}, "query")),
        ToolSpec("read_document", "", _schema({"document_id": text}, "document_id")),
        ToolSpec("run_python", "", _schema({"code": text}, "code")),
    ]
    offered = {tool.name for tool in tools}
    for row in lines(path):
        for said in (row.get("turn1"), row.get("turn2"), (row.get("message") or {}).get("content")):
            if not said:
                continue
            labelled = re.search(r"^ACTION: (\w+).*\nACTION_INPUT: (\{.*\})$", said, re.MULTILINE)
            shown = re.search(r'"name":\s*"(\w+)",\s*"arguments":\s*(\{[^{}]*\})', said)
            found = labelled or (shown if shown and shown[1] in offered else None)
            if found is None:
                if not re.search(r"^ACTION:", said, re.MULTILINE):
                    empty.append(("qwen", said, tools))
                continue
            parsed = parse_reply(ModelReply(said), tools, "q")
            first = ParsedReply(parsed.calls[:1])
            tally.add("text:qwen", [(found[1], json.loads(found[2]))], first, said)


def _schema(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def invented(folder: Path, empty: list[tuple[str, str, list[ToolSpec]]], rng: random.Random) -> tuple[int, list[str]]:
    """Texts that hold no call, and those in which one was read all the same."""
    texts = list(empty)
    for row in lines(folder / "bfcl" / "irrelevance.jsonl"):
        tools = specs(row["function"])
        texts.append(("irrelevance", row["question"][0][-1]["content"], tools))
        name = tools[0].name if tools else "tool"
        keys = list((tools[0].parameters.get("properties") or {}) if tools else {})
        texts += [("prose", prose(template, name, keys), tools) for template in rng.sample(PROSE, 4)]
    wrong = [f"[{kind}] {text!r}" for kind, text, tools in texts if parse_reply(ModelReply(text), tools, "n").calls]
    return len(texts), wrong


def false_claims(folder: Path, report: Report, show: bool) -> None:
    """Claims of completion in last words, against what the run did; and in all turns, by whether a tool wrote."""
    rows = list(lines(folder / "final_claims.jsonl"))
    claimed = [(find_claim(row["final_assistant_text"]), row) for row in rows]
    past = [row for claim, row in claimed if claim and claim.kind == "past"]
    failed = [row for row in rows if not row["task_succeeded"]]
    hit = sum(not row["task_succeeded"] for row in past)
    report.figure("false completion: precision", 100 * hit / max(1, len(past)), unit="%", goal=GOAL_CLAIMS, holds=True)
    report.figure("false completion: recall", 100 * hit / max(1, len(failed)), unit="%", goal=GOAL_CLAIMS, holds=True)
    report.figure("false completion: last words, claims, of failed tasks", f"{len(rows)}, {len(past)}, {hit}")
    idle = [(claim, row) for claim, row in claimed if not row["tool_calls_made"]]
    unfounded = sum(claim is not None and claim.kind == "past" for claim, _ in idle)
    report.figure("claims where no tool ran in the whole run", f"{unfounded} of {len(idle)}")
    wrote, silent = Counter[bool](), Counter[bool]()
    for number in (0, 1):
        for run in lines(folder / f"gpt4o_trajectories.{number}.jsonl"):
            for text, names in _turns(run["messages"]):
                claim = find_claim(text)
                says = claim is not None and claim.kind == "past"
                if any(WRITING.match(name) for name in names) and "!" not in names:
                    wrote[says] += 1
                    if show and not says:
                        print("[no claim after a write]", repr(text[:300]))
                elif not names:
                    silent[says] += 1
                    if show and says:
                        print("[claim without a tool]", claim, repr(text[:300]))
    report.figure("claims recognised in reports of turns that wrote without an error", _percent(wrote), unit="%")
    report.figure("claims in turns without a tool (each worth a re-prompt)", _percent(silent), unit="%")


def _percent(counted: Counter[bool]) -> float:
    return 100 * counted[True] / max(1, counted.total())


def _turns(messages: list[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """The assistant's last words of each turn, with the tools that ran in it."""
    ran = list[str]()
    for message in messages:
        if message["role"] == "user":
            ran = []
        elif message["role"] == "assistant" and message.get("tool_calls"):
            ran += [call["function"]["name"] for call in message["tool_calls"]]
        elif message["role"] == "tool" and str(message["content"]).startswith("Error"):
            ran.append("!")  # there is nothing to claim then
        elif message["role"] == "assistant" and message["content"]:
            yield message["content"], ran


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evals", type=Path, default=ROOT.parent / "shared" / "evals")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="print what was missed")
    options = parser.parse_args()
    folder = options.evals / "agents"
    if not folder.is_dir():
        print(f"eval-agents: no measuring data in {folder}; give its folder with --evals", file=sys.stderr)
        return 2
    rng, tally, report = random.Random(options.seed), Tally(Counter(), Counter(), []), Report("eval-agents")
    count = rendered(folder / "bfcl", rng, tally)
    report.figure("texts rendered from BFCL", count, goal=GOAL_MANY, holds=count >= 1000)
    made = set(tally.wanted)
    calls, empty = recorded(folder, tally)
    report.figure("calls in recordings", calls)
    kinds = set(tally.wanted)
    for prefix, goal, least in (("native:", GOAL_NATIVE, 99), ("text:", GOAL_TEXT, 95)):
        for label, subset in (("rendered", made), ("recorded", kinds - made)):
            share = tally.share({kind for kind in subset if kind.startswith(prefix)})
            holds = share is not None and share >= least
            report.figure(f"{prefix[:-1]} calls read, {label}", share, unit="%", goal=goal, holds=holds)
    for kind in sorted(kinds):
        if kind.startswith("text:") and (tally.share({kind}) or 0) < 100:
            report.figure(f"of these {kind[5:]}", tally.share({kind}), unit="%")
    texts, wrong = invented(folder, empty, rng)
    report.figure("texts without a call", texts)
    report.figure("calls invented from them", len(wrong), goal=GOAL_NONE, holds=not wrong)
    report.figure("patterns: future, past", f"{len(FUTURE)}, {len(PAST)}")
    false_claims(folder / "tau_airline", report, options.show)
    if options.show:
        print("\n".join([*tally.misses, *(f"[invented] {one}" for one in wrong)]))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
