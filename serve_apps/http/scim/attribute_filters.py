"""SCIM filters as SQL/JSON path predicates (SQL:2023, 9.39): only their shape becomes text, every value a variable."""

import json
import re
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from scim2_models import AttributeBinding, Resource, ScimFilter, SearchRequest
from scim2_models.path import (
    CompareOperator,
    Comparison,
    FilterNode,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ValuePath,
    coerce_value,
)

from cluster.basics.storable import is_storable
from cluster.state.identity.provisioned_people import NO_PATH, AttributeQuery
from serve_apps.http.scim.scim_models import MOST_RESULTS
from serve_apps.http.scim_errors import ScimRequestRefused

DEFAULT_RESULTS: Final = 100
NEVER: Final = "(1 == 0)"
RELATED: Final = ("groups", "members")
_ORDERED: Final = {CompareOperator.gt: ">", CompareOperator.ge: ">=", CompareOperator.lt: "<", CompareOperator.le: "<="}
_SPECIAL: Final = re.compile(r"[.^$*+?()\[\]{}|\\]")


class JsonPathFilter(FilterVisitor[str]):
    """Translates for one resource type; an attribute that it has not never matches (RFC 7644, section 3.4.2.1)."""

    def __init__(self, model: type[Any], values: dict[str, Any], at: str = "$") -> None:
        """`values` takes the values of the variables; `at` is what attributes are looked for in."""
        self._model, self._values, self._at = model, values, at

    def visit_comparison(self, node: Comparison) -> str:
        """`userName eq "x"`."""
        bound = _bound(self._model, node)
        binding = bound.resolve_comparison(node.attr_path, strict=False)
        if binding is None:
            return NEVER
        place, value = self._place(binding), _comparable(binding, node.value, node.op)
        if value is None:
            there = f"exists({place})"
            return {CompareOperator.eq: f"!({there})", CompareOperator.ne: there}.get(node.op, NEVER)
        if node.op in (CompareOperator.co, CompareOperator.ew):
            pattern = _SPECIAL.sub(lambda found: "\\" + found[0], str(value))
            quoted = json.dumps(pattern + ("$" if node.op is CompareOperator.ew else ""), ensure_ascii=False)
            return f"({place} like_regex {quoted})"
        name = f"v{len(self._values)}"
        self._values[name] = value
        if node.op is CompareOperator.sw:
            return f"({place} starts with ${name})"
        if node.op is CompareOperator.ne:
            return f"!({place} == ${name})"
        return f"({place} {_ORDERED.get(node.op, '==')} ${name})"

    def visit_present(self, node: Present) -> str:
        """`title pr`."""
        binding = _bound(self._model, node).resolve(node.attr_path, strict=False)
        return NEVER if binding is None else f'exists({self._place(binding)} ? (@.type() != "string" || @ != ""))'

    def visit_not(self, node: Not) -> str:
        """`not (…)`."""
        return f"!({self.visit(node.expr)})"

    def visit_logical_expr(self, node: LogicalExpr) -> str:
        """`… and …`."""
        joint = " && " if node.op is LogicalOperator.and_ else " || "
        return "(" + joint.join(self.visit(term) for term in node.terms) + ")"

    def visit_value_path(self, node: ValuePath) -> str:
        """`emails[type eq "work"]`."""
        binding = _bound(self._model, node).resolve(node.attr_path, strict=False)
        if binding is None or binding.field_type is None:
            return NEVER
        inner = JsonPathFilter(binding.field_type, self._values, "@").visit(node.val_filter)
        return f"exists({self._place(binding)} ? ({inner}))"

    def _place(self, binding: AttributeBinding) -> str:
        place = f'{self._at}."{binding.field_name}"' + ("[*]" if binding.is_multivalued else "")
        return place if binding.sub_field_name is None else f'{place}."{binding.sub_field_name}"'


def attribute_query(asked: SearchRequest[Any], model: type[Resource[Any]]) -> AttributeQuery:
    """What a search asks of one kind of resource. Raises ScimRequestRefused: nothing here can be equal to a value."""
    values: dict[str, Any] = {}
    condition, named, related = None, {}, False
    if asked.filter is not None:
        condition = JsonPathFilter(model, values).visit(asked.filter.ast)
        named = _demands(asked.filter.ast, model)
        related = any(f'."{name}"' in condition for name in RELATED)
    binding = asked.sort_binding(model)
    sort = NO_PATH
    if binding is not None:
        sub = () if binding.sub_field_name is None else (binding.sub_field_name,)
        sort = (binding.field_name, *(("0",) if binding.is_multivalued else ()), *sub)
        related = related or binding.field_name in RELATED
    return AttributeQuery(
        condition,
        values,
        only=_uuid_text(named.get("id")),
        user_name=named.get("user_name"),
        related=related,
        sort=sort,
        descending=asked.sort_order is SearchRequest.SortOrder.descending,
        skip=min((asked.start_index or 1) - 1, 2**31),
        limit=min(DEFAULT_RESULTS if asked.count is None else asked.count, MOST_RESULTS),
    )


def _demands(node: FilterNode, model: type[Resource[Any]]) -> dict[str, Any]:
    """Attributes that have to have one value for the filter to hold: what providers ask for before every change."""
    terms = node.terms if isinstance(node, LogicalExpr) and node.op is LogicalOperator.and_ else (node,)
    found = {}
    for term in terms:
        if isinstance(term, Comparison) and term.op is CompareOperator.eq:
            binding = _bound(model, term).resolve_comparison(term.attr_path, strict=False)
            if binding is not None and binding.sub_field_name is None:
                found[binding.field_name] = _comparable(binding, term.value, term.op)
    return found


def _bound(model: type[Any], node: FilterNode) -> ScimFilter[Any]:
    bound: type[ScimFilter[Any]] = ScimFilter.__class_getitem__(model)
    return bound(node)


def _comparable(binding: AttributeBinding, value: Any, op: CompareOperator) -> Any:
    """The value as the attributes are kept for comparison: without case where that means nothing, moments in UTC."""
    value = coerce_value(binding, value, op)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment.astimezone(UTC).strftime("%Y-%m-%dt%H:%M:%S.%f")
    if isinstance(value, str) and not is_storable(value):
        raise ScimRequestRefused("invalidFilter", "no text here holds NUL or half a character")
    return binding.comparable(value)


def _uuid_text(value: Any) -> str | None:
    try:
        return str(UUID(value)) if isinstance(value, str) else None
    except ValueError:
        return None
