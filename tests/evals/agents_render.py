"""Calls in the syntaxes that model families write, and the noise that stands around them."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Wanted = Sequence[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Calls as text; `before` and `behind` say whether prose may stand there."""

    text: str
    before: bool = True
    behind: bool = True


def _json(value: Any, rng: random.Random | None = None) -> str:
    if rng is None:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=rng.random() < 0.3, indent=rng.choice([None, None, 2, 4]))


def _named(wanted: Wanted, key: str = "arguments") -> list[dict[str, Any]]:
    return [{"name": name, key: dict(given)} for name, given in wanted]


def _python(name: str, given: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"


def hermes(wanted: Wanted, rng: random.Random) -> Rendered:
    """Qwen, Hermes, Granite 4: one element a call."""
    return Rendered("\n".join(f"<tool_call>\n{_json(one, rng)}\n</tool_call>" for one in _named(wanted)))


def fenced(wanted: Wanted, rng: random.Random) -> Rendered:
    """A fence for each call, or one with a list."""
    key = rng.choice(["arguments", "parameters"])
    made = _named(wanted, key)
    info = rng.choice(["json", "json", "", "tool_call"])
    if rng.random() < 0.5:
        return Rendered("\n\n".join(f"```{info}\n{_json(one, rng)}\n```" for one in made))
    return Rendered(f"```{info}\n{_json(made if len(made) > 1 else made[0], rng)}\n```")


def bare(wanted: Wanted, rng: random.Random) -> Rendered:
    """Llama 3.x: objects with semicolons or line breaks between them."""
    made = _named(wanted, rng.choice(["parameters", "arguments", "args", "input"]))
    return Rendered(rng.choice(["; ", "\n", "\n\n", ", "]).join(_json(one, rng) for one in made))


def listed(wanted: Wanted, rng: random.Random) -> Rendered:
    """xLAM and Hammer: one list."""
    return Rendered(_json(_named(wanted), rng))


def pythonic(wanted: Wanted, rng: random.Random) -> Rendered:
    """Llama 4 and ToolACE: a list of Python calls."""
    return Rendered(f"[{', '.join(_python(name, given) for name, given in wanted)}]")


def python_lines(wanted: Wanted, rng: random.Random) -> Rendered:
    """A call a line, in a fence or not."""
    text = "\n".join(_python(name, given) for name, given in wanted)
    info = rng.choice(["", "python", "tool_code", None, None])
    return Rendered(text if info is None else f"```{info}\n{text}\n```")


def react(wanted: Wanted, rng: random.Random) -> Rendered:
    """Thought, action, input, once for each call, with an observation made up at the end."""
    action, given_as = rng.choice(
        [
            ("ACTION:", "ACTION_INPUT:"),
            ("Action:", "Action Input:"),
            ("**Action:**", "**Action Input:**"),
            ("action:", "input:"),
        ]
    )
    blocks = [f"Thought: I need {name}.\n{action} {name}\n{given_as} {_json(given, rng)}" for name, given in wanted]
    tail = rng.choice(["", "", "\nObservation: 42\nThought: I know.\nFinal Answer: 42", "\nOBSERVATION:"])
    return Rendered("\n".join(blocks) + tail, behind=False)


def react_inline(wanted: Wanted, rng: random.Random) -> Rendered:
    """`Action 1: f(a=1)`."""
    blocks = [f"Thought {at}: next.\nAction {at}: {_python(*one)}" for at, one in enumerate(wanted, 1)]
    return Rendered("\n".join(blocks), behind=False)


def langchain(wanted: Wanted, rng: random.Random) -> Rendered | None:
    """Structured chat: one action in a fence."""
    if len(wanted) != 1:
        return None
    ((name, given),) = wanted
    return Rendered(f"Action:\n```\n{_json({'action': name, 'action_input': dict(given)}, rng)}\n```")


def tagged_python(wanted: Wanted, rng: random.Random) -> Rendered:
    """Olmo 3 and LFM2."""
    opening, closing = rng.choice(
        [("<function_calls>\n", "\n</function_calls>"), ("<|tool_call_start|>[", "]<|tool_call_end|>")]
    )
    separator = "\n" if "\n" in opening else ", "
    return Rendered(opening + separator.join(_python(*one) for one in wanted) + closing)


def llama_tag(wanted: Wanted, rng: random.Random) -> Rendered:
    """Llama 3.x behind its token."""
    text = "; ".join(_json(one) for one in _named(wanted, "parameters"))
    return Rendered(f"<|python_tag|>{text}<|eom_id|>", behind=False)


def mistral(wanted: Wanted, rng: random.Random) -> Rendered:
    """Mistral, before and since v11."""
    if rng.random() < 0.5:
        return Rendered(f"[TOOL_CALLS] {_json(_named(wanted))}", behind=False)
    mark = rng.choice(["", "[ARGS]", "[CALL_ID]abcdefghi[ARGS]"])
    return Rendered("".join(f"[TOOL_CALLS]{name}{mark}{_json(given)}" for name, given in wanted), behind=False)


def deepseek(wanted: Wanted, rng: random.Random) -> Rendered:
    """DeepSeek V3, R1 and V3.1."""
    if rng.random() < 0.5:
        calls = [f"function<｜tool▁sep｜>{name}\n```json\n{_json(given)}\n```" for name, given in wanted]
    else:
        calls = [f"{name}<｜tool▁sep｜>{_json(given)}" for name, given in wanted]
    inside = "\n".join(f"<｜tool▁call▁begin｜>{one}<｜tool▁call▁end｜>" for one in calls)
    return Rendered(f"<｜tool▁calls▁begin｜>{inside}<｜tool▁calls▁end｜>", behind=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def elements(wanted: Wanted, rng: random.Random) -> Rendered:
    """Qwen3-Coder, MiniMax, DeepSeek V3.2, Seed: elements for parameters."""
    style = rng.choice(["qwen", "minimax", "dsml"])
    blocks = []
    for name, given in wanted:
        if style == "qwen":
            inner = "\n".join(f"<parameter={key}>\n{_text(value)}\n</parameter>" for key, value in given.items())
            blocks.append(f"<tool_call>\n<function={name}>\n{inner}\n</function>\n</tool_call>")
        elif style == "minimax":
            inner = "\n".join(f'<parameter name="{key}">{_text(value)}</parameter>' for key, value in given.items())
            blocks.append(f'<minimax:tool_call>\n<invoke name="{name}">\n{inner}\n</invoke>\n</minimax:tool_call>')
        else:
            mark = "｜DSML｜"
            inner = "\n".join(
                f'<{mark}parameter name="{key}" string="{str(isinstance(value, str)).lower()}">'
                f"{_text(value)}</{mark}parameter>"
                for key, value in given.items()
            )
            blocks.append(f'<{mark}invoke name="{name}">\n{inner}\n</{mark}invoke>')
    return Rendered("\n".join(blocks))


def glm(wanted: Wanted, rng: random.Random) -> Rendered:
    """GLM 4.5: keys and values in turn."""
    blocks = []
    for name, given in wanted:
        inner = "\n".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{_text(value)}</arg_value>" for key, value in given.items()
        )
        blocks.append(f"<tool_call>{name}\n{inner}\n</tool_call>")
    return Rendered("\n".join(blocks))


def kimi(wanted: Wanted, rng: random.Random) -> Rendered:
    """Kimi K2."""
    inside = "".join(
        f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{_json(given)}<|tool_call_end|>"
        for at, (name, given) in enumerate(wanted)
    )
    return Rendered(f"<|tool_calls_section_begin|>{inside}<|tool_calls_section_end|>", behind=False)


def command_r(wanted: Wanted, rng: random.Random) -> Rendered:
    """Command R, with its token or the older fence behind `Action:`."""
    made = [{"tool_name": name, "parameters": dict(given)} for name, given in wanted]
    if rng.random() < 0.5:
        return Rendered(f"<|START_ACTION|>{_json(made, rng)}<|END_ACTION|>", behind=False)
    return Rendered(f"Action: ```json\n{_json(made, rng)}\n```", behind=False)


def granite(wanted: Wanted, rng: random.Random) -> Rendered:
    """Granite 3 and Phi-4-mini."""
    opening = rng.choice(["<|tool_call|>", "<tool_call>", "functools", "<TOOLCALL>"])
    return Rendered(opening + _json(_named(wanted)), behind=False)


def functionary(wanted: Wanted, rng: random.Random) -> Rendered:
    """Functionary 3.1 and 3.2."""
    if rng.random() < 0.5:
        return Rendered("".join(f"<function={name}>{_json(given)}</function>" for name, given in wanted))
    return Rendered("\n".join(f">>>{name}\n{_json(given)}" for name, given in wanted), before=False, behind=False)


def harmony(wanted: Wanted, rng: random.Random) -> Rendered:
    """gpt-oss, where a server leaves its channels in."""
    text = "".join(
        "<|channel|>analysis<|message|>We need it.<|end|><|start|>assistant<|channel|>commentary "
        f"to=functions.{name} <|constrain|>json<|message|>{_json(given)}<|call|>"
        for name, given in wanted
    )
    return Rendered(text, before=False, behind=False)


def openai_json(wanted: Wanted, rng: random.Random) -> Rendered:
    """OpenAI's wire format copied into the content."""
    calls = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(dict(given))}}
        for at, (name, given) in enumerate(wanted)
    ]
    return Rendered(_json({"tool_calls": calls}, rng))


def keyed(wanted: Wanted, rng: random.Random) -> Rendered:
    """Apertus, and BFCL's own results."""
    text = _json([{name: dict(given)} for name, given in wanted], rng)
    return Rendered(rng.choice([text, f"<|tools_prefix|>{text}<|tools_suffix|>"]))


def python_dict(wanted: Wanted, rng: random.Random) -> Rendered:
    """JSON with Python's quotes and constants."""
    return Rendered("\n".join(repr(one) for one in _named(wanted)))


def thinking(wanted: Wanted, rng: random.Random) -> Rendered:
    """Reasoning with a draft of another call before the call."""
    name, given = wanted[0]
    draft = _json({"name": name, "arguments": {**dict(given), "draft": True}})
    return Rendered(f"<think>\nMaybe {draft}? No.\n</think>\n{hermes(wanted, rng).text}", before=False)


TEXTUAL: tuple[Callable[[Wanted, random.Random], Rendered | None], ...] = (
    *(hermes, fenced, bare, listed, pythonic, python_lines, react, react_inline, langchain, tagged_python, llama_tag),
    *(mistral, deepseek, elements, glm, kimi, command_r, granite, functionary, harmony, openai_json, keyed),
    *(python_dict, thinking),
)


def plain(given: Mapping[str, Any]) -> str:
    """As it should be."""
    return json.dumps(given)


def doubled(given: Mapping[str, Any]) -> str:
    """JSON in a JSON string."""
    return json.dumps(json.dumps(given))


def untidy(given: Mapping[str, Any]) -> str:
    """A trailing comma, or nothing at all."""
    return json.dumps(given, indent=2)[:-2] + ",\n}" if given else ""


def one_brace_more(given: Mapping[str, Any]) -> str:
    """Closed twice."""
    return json.dumps(given) + "}"


NATIVE: tuple[Callable[[Mapping[str, Any]], str], ...] = (plain, plain, plain, doubled, untidy, one_brace_more)

_BEFORE = (
    "",
    "Sure, I can help with that.\n\n",
    "I'll look that up for you.\n",
    "To answer this I need the tool. Here is the call:\n\n",
    "Let me check that, it's quick:\n",
    "I don't know this, so I have to ask for it.\n\n",
    "Based on your question, we should use the following function:\n\n",
)
_BEHIND = (
    "",
    "",
    "\n\nThis will give us what we need.",
    "\n\nPlease wait while I process your request.",
    "\nLet me know if you need anything else!",
)


def noisy(made: Rendered, rng: random.Random) -> str:
    """The text with prose around it where there may be some."""
    before = rng.choice(_BEFORE) if made.before else ""
    return before + made.text + (rng.choice(_BEHIND) if made.behind else "")


# Prose that talks about tools and calls none; see `prose` for what fills it.
PROSE: tuple[str, ...] = (
    "None of the tools can do this. NAME needs KEYS, which you did not give.",
    "I could use `NAME(KEYS)` if you told me more. What are the values?",
    "The function `NAME` is not what you need here.\n\n1. It takes KEYS.\n2. It returns a number.",
    "Here is what the tool looks like:\n```json\nDEFINITION\n```",
    "For example, one could write:\n```json\nCALL\n```\nBut that does not answer your question.",
    "```python\ndef PLAIN(KEYS):\n    return None\n```\nThis is how it might be written.",
    'The manual says: "Action: NAME" and then "Action Input: {}". I will not do that.',
    "> ACTION: NAME\n> ACTION_INPUT: {}\n\nThat is what you quoted; I have nothing to add.",
    "FINAL ANSWER: I cannot do this with NAME. Please ask something else.",
    "Thought: NAME does not fit.\nFinal Answer: I'm sorry, I can't help with that.",
    "Action items:\n- read about NAME\n- compare KEYS\n\nObservation: nothing else.",
    '{"answer": "no tool like NAME helps", "parameters": ["KEYS"]}',
    "If I had the data, I would call NAME(PLACEHOLDERS).",
    "The schema has KEYS; NAME uses it, and `<tool_call>` would begin a call of it.",
    "I do not have what NAME(PLACEHOLDERS) wants. Could you give me KEYS?",
)


def prose(template: str, name: str, keys: list[str]) -> str:
    """The template about this tool."""
    properties = {key: {"type": "string"} for key in keys}
    return (
        template.replace("KEYS", ", ".join(keys) or "nothing")
        .replace("PLACEHOLDERS", ", ".join(f"{key}={key}" for key in keys))
        .replace("PLAIN", name.replace(".", "_"))
        .replace("DEFINITION", json.dumps({"name": name, "parameters": {"type": "object", "properties": properties}}))
        .replace("CALL", json.dumps({"name": name, "arguments": dict.fromkeys(keys, "x")}))
        .replace("NAME", name)
    )
