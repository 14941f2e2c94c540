"""Row lineage: a SELECT rewritten so that each row it gives says which rows of which tables it was made of.

Works on the tree of a statement as DuckDB's json_serialize_sql gives it. Each SELECT gets one more column: the rows
themselves, or, where it aggregates, those that the aggregates are of. What is not rewritten may see that column: who
runs the statement takes its rows only where they are those of the statement as it was written.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

LINEAGE: Final = "__rows"  # the added column: a list of numbers, see `row_key`
TABLE_BITS: Final = 32  # a key has the number of its table above them
# Aggregates, by their number of arguments, whose value is that of one row: how that row is found.
_ENDS: Final = {
    ("max", 1): "arg_max",
    ("min", 1): "arg_min",
    **{(name, 2): "arg_max" for name in ("arg_max", "argmax", "max_by")},
    **{(name, 2): "arg_min" for name in ("arg_min", "argmin", "min_by")},
}
Tree = dict[str, Any]


class Untraceable(Exception):
    """Rows of this statement cannot be led back: a set operation, window, function or recursion stands between."""


def split_row_key(key: int) -> tuple[int, int]:
    """The number of a table and of a row in it."""
    return key >> TABLE_BITS, key & ((1 << TABLE_BITS) - 1)


class LineageRewriter:
    """Rewrites statements over given tables."""

    def __init__(self, tables: Mapping[str, int], aggregates: Collection[str], parse: Callable[[str], Tree]) -> None:
        """`tables`: the number of each by its folded name; `parse` gives the tree of an expression's SELECT."""
        self._tables, self._aggregates, self._parse = tables, aggregates, parse

    def rewrite(self, node: Tree) -> Tree:
        """The query node with the added column. Raises Untraceable."""
        return self._rewrite_query(deepcopy(node), {})

    def _rewrite_query(self, node: Tree, named: Mapping[str, bool]) -> Tree:
        known = self._rewrite_named(node, named)
        match node["type"]:
            case "SELECT_NODE":
                self._rewrite_select(node, known)
            case "SET_OPERATION_NODE" if node["setop_all"] and node["setop_type"].startswith("UNION"):
                node["children"] = [self._rewrite_query(one, known) for one in node["children"]]
            case _:
                raise Untraceable(node["type"])
        return node

    def _rewrite_named(self, node: Tree, named: Mapping[str, bool]) -> dict[str, bool]:
        """Rewrite what WITH names; True of each that has the column now."""
        known = dict(named)
        for entry in node["cte_map"]["map"]:
            inner = entry["value"]
            try:
                if inner["aliases"]:
                    raise Untraceable(entry["key"])
                inner["query_node"] = self._rewrite_query(deepcopy(inner["query_node"]), known)
                known[entry["key"].casefold()] = True
            except Untraceable:
                known[entry["key"].casefold()] = False
        return known

    def _rewrite_select(self, node: Tree, known: Mapping[str, bool]) -> None:
        if _holds([node["select_list"], node["group_expressions"]], {"WINDOW", "SUBQUERY"}):
            raise Untraceable("values of rows that are not its own")
        sources: list[tuple[str, bool]] = []
        self._find_sources(node["from_table"], known, sources)
        self._leave_out_of_stars(node, {name for name, nested in sources if nested})
        distinct = [one for one in node["modifiers"] if one["type"] == "DISTINCT_MODIFIER"]
        grouped = self._is_grouped(node)
        if distinct:
            if grouped or distinct[0].get("distinct_on_targets"):
                raise Untraceable("DISTINCT")
            node["modifiers"] = [one for one in node["modifiers"] if one["type"] != "DISTINCT_MODIFIER"]
            node["aggregate_handling"] = "FORCE_AGGREGATES"
        rows = self._rows_expression(sources)
        items = self._group_items(node, rows) if grouped or distinct else [self._parse_item(rows)]
        node["select_list"].append(self._join_items(items))

    def _group_items(self, node: Tree, rows: str) -> list[Tree]:
        """The rows that each aggregate of a group is of; one item for all where one is of the whole group."""
        found: list[Tree] = []
        _find_calls(node["select_list"], self._aggregates, found)
        items = [self._rows_of_call(call, rows) for call in found]
        whole = any(one is None for one in items) or not items
        return [self._parse_item(f"flatten(list({rows}))")] if whole else [one for one in items if one is not None]

    def _rows_of_call(self, call: Tree, rows: str) -> Tree | None:
        """The row of a largest or smallest value, or the rows that a filter leaves; None for the whole group."""
        arguments = [one["expression"] for one in call["arguments"]]
        end = _ENDS.get((call["function_name"], len(arguments)))
        if end is None:
            if call["filter"] is None:
                return None
            item = self._parse_item(f"flatten(list({rows}))")
            item["arguments"][0]["expression"]["filter"] = deepcopy(call["filter"])
            return item
        # What is looked up beside a largest value is passed over where it is empty.
        item = self._parse_item(f"{end}({rows}, 0) filter (where 0 is not null and true)")
        item["arguments"][1]["expression"] = deepcopy(arguments[-1])
        condition = item["filter"]["children"]
        condition[0]["children"] = [deepcopy(arguments[0])]
        if call["filter"] is not None:
            condition[1] = deepcopy(call["filter"])
        return item

    def _parse_item(self, expression: str) -> Tree:
        item: Tree = self._parse(f"select {expression}")["select_list"][0]
        return item

    def _join_items(self, items: Sequence[Tree]) -> Tree:
        """All rows of several lists as the added column."""
        joined = items[0]
        for item in items[1:]:
            both = self._parse_item("list_concat(coalesce(0, []::bigint[]), coalesce(0, []::bigint[]))")
            for argument, one in zip(both["arguments"], (joined, item), strict=True):
                argument["expression"]["children"][0] = one
            joined = both
        return {**joined, "alias": LINEAGE}

    def _rows_expression(self, sources: Collection[tuple[str, bool]]) -> str:
        parts = []
        for name, nested in sources:
            column = f"{_quoted(name)}.{LINEAGE}" if nested else self._key_expression(name)
            parts.append(f"coalesce({column}, []::bigint[])" if nested else column)
        if not parts:
            return "[]::bigint[]"
        said = parts[0]
        for part in parts[1:]:
            said = f"list_concat({said}, {part})"
        return said

    def _key_expression(self, name: str) -> str:
        alias, _, table = name.partition("\0")
        return f"[{self._tables[table] << TABLE_BITS}::bigint + {_quoted(alias)}.row]"

    def _find_sources(self, table: Tree, known: Mapping[str, bool], found: list[tuple[str, bool]]) -> None:
        """The tables of a FROM: (alias, True) of one that has the column, (alias NUL table, False) of one with rows."""
        match table["type"]:
            case "EMPTY":
                return
            case "BASE_TABLE":
                if table["column_name_alias"]:
                    raise Untraceable("column aliases")
                name = table["table_name"].casefold()
                alias = table["alias"] or table["table_name"]
                if name in known:
                    if not known[name]:
                        raise Untraceable(name)
                    found.append((alias, True))
                elif name in self._tables:
                    found.append((f"{alias}\0{name}", False))
                else:
                    raise Untraceable(name)
            case "SUBQUERY":
                if table["column_name_alias"]:
                    raise Untraceable("column aliases")
                table["subquery"]["node"] = self._rewrite_query(table["subquery"]["node"], known)
                table["alias"] = table["alias"] or f"__from{len(found)}"
                found.append((table["alias"], True))
            case "JOIN":
                self._find_sources(table["left"], known, found)
                if table["join_type"] not in ("SEMI", "ANTI"):
                    self._find_sources(table["right"], known, found)
            case _:
                raise Untraceable(table["type"])

    def _leave_out_of_stars(self, node: Tree, nested: Collection[str]) -> None:
        """`select *` of what has the column is without it."""
        named = {name.casefold() for name in nested}
        for star in _stars_of(node["select_list"]):
            if nested and (not star["relation_name"] or star["relation_name"].casefold() in named):
                star["exclude_list"] = [*star["exclude_list"], LINEAGE]

    def _is_grouped(self, node: Tree) -> bool:
        if node["group_expressions"] or node["group_sets"] or node["aggregate_handling"] != "STANDARD_HANDLING":
            return True
        if node["having"] is not None:
            return True
        orders = [one for one in node["modifiers"] if one["type"] == "ORDER_MODIFIER"]
        found: list[Tree] = []
        _find_calls([node["select_list"], orders], self._aggregates, found)
        return bool(found)


def _find_calls(part: Any, names: Collection[str], found: list[Tree]) -> None:
    """Calls of these functions, not within a query or a window of its own."""
    if isinstance(part, list):
        for one in part:
            _find_calls(one, names, found)
    elif isinstance(part, dict) and part.get("class") not in ("SUBQUERY", "WINDOW"):
        if part.get("class") == "FUNCTION" and part["function_name"] in names:
            found.append(part)
        for one in part.values():
            _find_calls(one, names, found)


def _holds(part: Any, classes: Collection[str]) -> bool:
    if isinstance(part, list):
        return any(_holds(one, classes) for one in part)
    if not isinstance(part, dict):
        return False
    return part.get("class") in classes or any(_holds(one, classes) for one in part.values())


def _stars_of(part: Any) -> list[Tree]:
    if isinstance(part, list):
        return [star for one in part for star in _stars_of(one)]
    if not isinstance(part, dict) or part.get("class") == "SUBQUERY":
        return []
    inner = [star for one in part.values() for star in _stars_of(one)]
    return [part, *inner] if part.get("class") == "STAR" else inner


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
