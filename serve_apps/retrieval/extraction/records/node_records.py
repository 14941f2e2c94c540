"""Records in XML and JSON: elements that repeat, the one that an identifier names, and the values inside of each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from serve_apps.retrieval.extraction.candidates import FieldCandidate
from serve_apps.retrieval.extraction.extraction_result import FoundValue
from serve_apps.retrieval.extraction.field_words import FieldWords, share_covered, split_name
from serve_apps.retrieval.extraction.match_fields import CandidatePool, match_fields
from serve_apps.retrieval.extraction.records.structured_text import StructuredText, TextNode
from serve_apps.retrieval.extraction.schema_fields import FieldKind, SchemaField
from serve_apps.retrieval.extraction.time_limit import UNLIMITED, TimeLimit
from serve_apps.retrieval.extraction.typed_values import convert_text

MOST_RECORDS: Final = 2_000
MOST_GROUPS: Final = 8  # whose records are looked into, those of the best names
SAMPLED: Final = 3  # records by which a group is judged
LEAST_GROUP: Final = 0.5  # how well a group fits an array, from which on it is taken
NESTED: Final = 0.1  # less, for a group inside of another one
_IDENTIFIER = re.compile(r"[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*")


def identifiers_in(description: str) -> list[str]:
    """Codes that a description names, such as `ORD-10134`, without case."""
    return [
        found[0].casefold()
        for found in _IDENTIFIER.finditer(description)
        if any(map(str.isdigit, found[0])) and len(found[0]) >= (3 if re.search(r"[A-Za-z]", found[0]) else 5)
    ]


class NodeRecords:
    """The elements of a document, by what they are called and where they repeat."""

    def __init__(self, structure: StructuredText) -> None:
        self._structure = structure
        self._repeated = _repeated_nodes(structure.root)
        self._known: dict[str, TextNode] = {}
        for leaf in structure.root.leaves():
            record = next((one for one in leaf.above() if one in self._repeated), None)
            if record is not None and leaf not in self._repeated:
                self._known.setdefault(leaf.text.casefold(), record)

    @property
    def root(self) -> TextNode:
        """All of it."""
        return self._structure.root

    def record_named(self, description: str) -> TextNode | None:
        """The repeated element that holds an identifier of a description."""
        return next((self._known[one] for one in identifiers_in(description) if one in self._known), None)

    def candidates(self, root: TextNode) -> Iterator[FieldCandidate]:
        """The values below a node that do not repeat there."""
        for leaf in root.leaves():
            names: list[str] = []
            at: TextNode | None = leaf
            while at is not None and at is not root:
                if at in self._repeated:
                    break
                names.append(at.name)
                at = at.parent
            if at is not root:
                continue
            place = self._structure.place(leaf)
            if place is not None:
                around = " ".join([*names[1:], root.name])
                weight = 1.0 - 0.01 * min(len(names), 8)
                yield FieldCandidate(leaf.text, place, leaf.name, around, weight)

    def find_records(self, field: SchemaField, root: TextNode) -> Sequence[TextNode]:
        """The elements that are an array's items; none where no group of them fits."""
        assert field.items is not None
        groups: dict[tuple[str, ...], list[TextNode]] = {}
        for node in root.walk():
            if field.items.kind is FieldKind.VALUE or node.children:
                path = (node.name, *(one.name for one in _until(node, root)))
                groups.setdefault(path, []).append(node)
        named = {path: _rate_names(field, path) for path in groups}
        likely = sorted(groups, key=lambda path: -named[path])[:MOST_GROUPS]
        rated = [(self._rate_group(field, named[path], groups[path], root), groups[path]) for path in likely]
        best = max(rated, key=lambda one: one[0], default=(0.0, []))
        return best[1][:MOST_RECORDS] if best[0] >= LEAST_GROUP else ()

    def read_items(
        self, items: SchemaField, nodes: Sequence[TextNode], context: str, limit: TimeLimit = UNLIMITED
    ) -> list[Mapping[str, FoundValue]]:
        """The fields of each record."""
        values = [one for one in items.properties if one.kind is FieldKind.VALUE]
        return [
            match_fields(values, CandidatePool(() if limit.is_over else self._inside(node)), context, limit)
            for node in nodes
        ]

    def read_values(self, items: SchemaField, nodes: Sequence[TextNode]) -> list[FoundValue]:
        """The value of each element of a list of values."""
        made = []
        for node in nodes:
            typed, place = convert_text(items, node.text), self._structure.place(node)
            if typed is not None and place is not None:
                made.append(FoundValue(typed.value, place))
        return made

    def _inside(self, node: TextNode) -> Iterator[FieldCandidate]:
        yield from self.candidates(node)
        place = self._structure.place(node)
        if node.text and place is not None:
            yield FieldCandidate(node.text, place, node.name)

    def _rate_group(self, field: SchemaField, named: float, nodes: Sequence[TextNode], root: TextNode) -> float:
        assert field.items is not None
        nested = any(one in self._repeated for one in _until(nodes[0], root))
        if field.items.kind is FieldKind.VALUE:
            return named - NESTED * nested if len(nodes) > 1 or named >= 0.9 else 0.0
        values = [one for one in field.items.properties if one.kind is FieldKind.VALUE]
        found = self.read_items(field.items, nodes[:SAMPLED], field.name)
        covered = max((len(one) for one in found), default=0) / len(values) if values else 0.0
        repeats = 0.05 if len(nodes) > 1 else 0.0
        return 0.5 * named + 0.5 * covered + repeats - NESTED * nested if covered >= 0.3 or not values else 0.0


def _rate_names(field: SchemaField, path: Sequence[str]) -> float:
    """How far the name of a group of elements, the last of its path first, is an array's."""
    words = FieldWords.of(field)
    label, own = split_name(" ".join(path[:2])), split_name(path[0])
    named = max(share_covered(words.name, label), 0.9 * share_covered(words.description, label))
    return (named + share_covered(own, (*words.name, *words.description))) / 2


def _repeated_nodes(root: TextNode) -> frozenset[TextNode]:
    """Nodes beside which others have the same name."""
    found: set[TextNode] = set()
    for parent in (root, *root.walk()):
        names: dict[str, list[TextNode]] = {}
        for child in parent.children:
            names.setdefault(child.name, []).append(child)
        found.update(child for some in names.values() if len(some) > 1 for child in some)
    return frozenset(found)


def _until(node: TextNode, root: TextNode) -> Iterator[TextNode]:
    """The parents of a node below another."""
    for one in node.above():
        if one is root:
            return
        yield one
