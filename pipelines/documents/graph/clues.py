"""Words that tell what the words beside them name: titles, offices, legal forms, kinds of bodies and of products."""

from importlib.resources import files


def read_sections(file: str) -> dict[str, list[str]]:
    """The lines of a file beside this one by the `[section]` that they stand in; `# ` begins a remark."""
    found: dict[str, list[str]] = {}
    for line in (files("pipelines.documents.graph") / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("# "):
            section.append(line)
    return found


_SETS = {name: frozenset(" ".join(lines).split()) for name, lines in read_sections("clues.txt").items()}
PLAIN = _SETS["plain"]
CALENDAR = _SETS["calendar"]
COUNTED = _SETS["counted"]
BODIES = _SETS["bodies"]
WEAK_BODIES = _SETS["weak_bodies"]
BODY_HEADS = _SETS["body_heads"]
PRODUCTS = _SETS["products"]
OFFICES = _SETS["offices"]
TITLES_BEFORE = _SETS["titles_before"]
ABBREVIATED = _SETS["abbreviated"]
SPEAKS = _SETS["speaks"]
ACTS = _SETS["acts"]
MAKERS = _SETS["makers"]
OF_A_BODY = _SETS["of_a_body"]
PRONOUNS = _SETS["pronouns"]
COMMON = _SETS["common"]
WORKS = _SETS["works"]
PLACE_BEFORE = _SETS["place_before"]
STREETS = _SETS["streets"]
SIDES = _SETS["sides"]
LEGAL_FORMS = _SETS["legal_forms"]
NO_ACRONYMS = _SETS["no_acronyms"]
GIVEN = _SETS["given"]
LEGAL_ENDINGS = _SETS["legal_endings"]
PERSON_TITLES = _SETS["person_titles"]
SMALL = _SETS["small"]
DOUBTFUL_PLACES = _SETS["doubtful_places"]
