"""Raised and lowered text that stays apart from what it stands beside: 10⁶, H₂O, `1250 [note]`."""

_PLAIN = "0123456789+-=()"
_RAISED = dict(zip(_PLAIN + "−–abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾⁻⁻ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))
_LOWERED = dict(zip(_PLAIN + "−–aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎₋₋ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))
_APART = frozenset("*†‡§¶#¹²³⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉°′″®™©ªº")  # signs that nobody takes for a digit or a letter
_ORDINALS = frozenset(("st", "nd", "rd", "th", "er", "ère", "ème"))


def as_superscript(text: str) -> str:
    """A superscript: `²` for `2`; ` [2, 3]` for what has no raised signs; `st` of `1st` as it is."""
    return text if text.strip().lower() in _ORDINALS else _shift_text(text, _RAISED)


def as_subscript(text: str) -> str:
    """A subscript: `₂` for `2`; ` [max]` for what has no lowered signs."""
    return _shift_text(text, _LOWERED)


def _shift_text(text: str, signs: dict[str, str]) -> str:
    inner = text.strip()
    if not inner or all(sign in _APART for sign in inner):
        return text
    if all(sign in signs for sign in inner):
        return text.replace(inner, "".join(signs[sign] for sign in inner))
    framed = inner if (inner[0], inner[-1]) in (("[", "]"), ("(", ")")) else f"[{inner}]"
    return f" {framed}" + (" " if text[-1].isspace() else "")
