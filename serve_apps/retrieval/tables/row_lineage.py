"""Row lineage: a SELECT rewritten so that each row it gives says which rows of which tables it was made of.

Works on the tree of a statement as DuckDB's json_serialize_sql gives it. Each SELECT gets one more column: the rows
themselves, or, where it aggregates, those of the whole group.
"""

from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from typing import Any, Final

LINEAGE: Final = "__rows"  # the added column: a list of numbers, see `row_key`
TABLE_BITS: Final = 32  # a key has the number of its table above them
Tree = dict[str, Any]


class Untraceable(Exception):
    """Rows of this statement cannot be led back: a set operation, a function or a recursion stands between."""


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
        sources: list[tuple[str, bool]] = []
        self._find_sources(node["from_table"], known, sources)
        self._leave_out_of_stars(node, {name for name, nested in sources if nested})
        distinct = [one for one in node["modifiers"] if one["type"] == "DISTINCT_MODIFIER"]
        grouped = self._is_grouped(node)
        if distinct:
            if grouped or distinct[0].get("distinct_on_targets") or _holds(node["select_list"], {"WINDOW"}):
                raise Untraceable("DISTINCT")
            node["modifiers"] = [one for one in node["modifiers"] if one["type"] != "DISTINCT_MODIFIER"]
            node["aggregate_handling"] = "FORCE_AGGREGATES"
        rows = self._rows_expression(sources)
        if grouped or distinct:
            rows = self._group_expression(node, rows)
        item = self._parse(f"select {rows} as {LINEAGE}")["select_list"][0]
        node["select_list"].append(item)

    def _group_expression(self, node: Tree, rows: str) -> str:
        """The rows of a group; of a largest or smallest value the row that has it."""
        found: list[Tree] = []
        _find_calls(node["select_list"], self._aggregates, found)
        plain = [one for one in found if not (one["distinct"] or one["filter"])]
        if len(found) == len(plain) == 1 and found[0]["function_name"] in ("max", "min"):
            column = found[0]["arguments"][0]["expression"]
            if len(found[0]["arguments"]) == 1 and column["class"] == "COLUMN_REF":
                name = ".".join(map(_quoted, column["column_names"]))
                return f"arg_{found[0]['function_name']}({rows}, {name})"
        return f"flatten(list({rows}))"

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
