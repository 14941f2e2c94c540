"""Splits a model's reasoning from its answer."""

import re

_NAMES = r"think|thinking|thought|reasoning|reflection|scratch_?pad|analysis|seed:think|mm:think|inner_monologue"
_OPEN = re.compile(
    rf"<({_NAMES})>|\[(THINK)\]|◁(think)▷|<\|(START_THINKING)\|>|<\|(inner_prefix)\|>|<\|channel>(thought)\b"
    r"|(?:<\|start\|>assistant)?<\|channel\|>(analysis)(?:<\|message\|>)?",
    re.IGNORECASE,
)
_CLOSE = {
    "think": re.compile(r"</think>|\[/THINK\]|◁/think▷", re.IGNORECASE),
    "start_thinking": re.compile(r"<\|END_THINKING\|>"),
    "inner_prefix": re.compile(r"<\|inner_suffix\|>"),
    "analysis": re.compile(r"<\|end\|>|</analysis>|(?=<\|start\|>|<\|channel\|>)"),
    "thought": re.compile(r"<channel\|>|</thought>", re.IGNORECASE),
}
_ORPHAN = re.compile(rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>", re.IGNORECASE)
# A model that forgets to end its reasoning before it calls.
_ESCAPE = re.compile(r"<\|?tool_?call|\[TOOL_CALLS\]|<function[=_ ]|<\|tool_calls|^ACTION\s*:", re.MULTILINE)
# Tokens that say where messages begin and end, and Harmony's channels; what is left of them is no text for a user.
_TOKENS = re.compile(
    r"<\|(?:im_start|im_end|eot_id|eom_id|end_of_text|endoftext|end_of_sentence|start_of_role|end_of_role"
    r"|START_RESPONSE|END_RESPONSE|START_TEXT|END_TEXT|END_OF_TURN_TOKEN|CHATBOT_TOKEN|return|end|call|begin_of_text"
    r"|eom|end_message|assistant_end|user|assistant|observation)\|>"
    r"|(?:<\|start\|>assistant)?<\|channel\|>(?:final|commentary)\s*<\|message\|>"
    r"|<(?:end_of_turn|start_of_turn|eos|turn\|)>|</s>|\A\s*>>>all\n"
)
_MOST = 100


def split_reasoning(text: str) -> tuple[str, str]:
    """(what it thought, what it said); an end without a beginning ends reasoning that its template began."""
    thoughts, rest = list[str](), list[str]()
    at = 0
    opened = _OPEN.search(text)
    orphan = _ORPHAN.search(text)
    if orphan and (opened is None or orphan.start() < opened.start()):
        thoughts.append(text[: orphan.start()])
        at = orphan.end()
    for _ in range(_MOST):
        opened = _OPEN.search(text, at)
        if opened is None:
            break
        rest.append(text[at : opened.start()])
        kind = next(group for group in opened.groups() if group).lower()
        own = re.compile(rf"</{re.escape(kind)}>", re.IGNORECASE)
        closed = _CLOSE.get(kind, own).search(text, opened.end())
        if closed is None:
            escape = _ESCAPE.search(text, opened.end())
            stop = escape.start() if escape else len(text)
            thoughts.append(text[opened.end() : stop])
            at = stop
            break
        thoughts.append(text[opened.end() : closed.start()])
        at = closed.end()
    rest.append(text[at:])
    return "\n".join(one.strip() for one in thoughts if one.strip()), "".join(rest)


def strip_tokens(text: str) -> str:
    """Text for people: without tokens that are left over."""
    return _TOKENS.sub("", text).strip()
