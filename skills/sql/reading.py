"""The first wall of a read-only skill: a parser that lets one reading statement through, and nothing it cannot read."""

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from skills.sql.database_errors import QueryWrong, WritesRefused

if TYPE_CHECKING:
    from sqlglot import exp

Dialect = Literal["postgres", "sqlite"]

# Functions that reach files, other servers, other sessions or settings, or that run SQL given as a text. Postgres is
# also asked which functions may change something; this list holds where it says nothing of them.
FORBIDDEN = re.compile(
    r"pg_(read|write|ls|stat)_(file|binary_file|dir|.*dir)|pg_file_\w+|pg_logfile_rotate|pg_rotate_logfile\w*"
    r"|pg_sleep\w*|pg_(terminate|cancel)_backend|pg_reload_conf|pg_notify|pg_promote|pg_switch_wal|pg_wal_replay_\w+"
    r"|pg_create_\w+|pg_drop_\w+|pg_copy_\w+|pg_replication_\w+|pg_logical_\w+|pg_backup_\w+|pg_(start|stop)_backup"
    r"|pg_(try_)?advisory_\w+|pg_stat_(reset|clear)\w*|pg_stat_statements_reset|pg_import_\w+|pg_export_snapshot"
    r"|pg_restore_\w+|pg_clear_\w+|lo_\w+|lo(create|read|write)|dblink\w*|postgres_fdw_\w+|nextval|setval|set_config"
    r"|setseed|query_to_xml\w*|cursor_to_xml\w*|ts_stat|ts_rewrite|crosstab\w*|connectby|xpath_table|http(_\w+)?"
    r"|load_extension|readfile|writefile|edit|fts3_tokenizer|eval|pg_execute_\w+|brin_\w+|gin_clean_pending_list",
    re.IGNORECASE,
)

_EXPLAIN = re.compile(
    r"\s*explain\b(?:\s*\(\s*(?:analyze|verbose|costs|settings|generic_plan|buffers|serialize|wal|timing|summary|memory"
    r"|format)\b[a-z_,\s]*\)|(?:\s+(?:analyze|verbose|query\s+plan)\b)*)\s*",
    re.IGNORECASE,
)
_SHOW = re.compile(r"\s*show\s+(?:all|[a-z_][a-z0-9_.]*|transaction\s+isolation\s+level|time\s+zone)\s*;?\s*", re.I)
_BEGINS = re.compile(r"(?:[\s(]|--[^\n]*\n|/\*.*?\*/)*(?:select|with|values|table)\b", re.IGNORECASE | re.DOTALL)
# Forms of texts and names that databases and parsers do not read in the same way.
_UNSURE = re.compile(r"(?<![A-Za-z0-9_])(?:e'|u&['\"])|\$[A-Za-z_]*\$", re.IGNORECASE)
_LONGEST = 100_000  # characters


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One statement."""

    text: str  # as it is run, values still as `:name`
    rows: bool = True  # it can be read through a cursor, as a SELECT can, and EXPLAIN cannot
    names: frozenset[str] = frozenset()  # what might be the name of a function in it, in lower case


def check_reading(text: str, dialect: Dialect) -> SqlStatement:
    """The statement, if it only reads as far as its text tells.

    A function that somebody defined may do anything; Postgres is asked about those (`postgres.sql`), and operators and
    casts that somebody defined are not looked into: give the credential a role that is allowed no more than needed.

    Raises:
        WritesRefused: it is none that only reads; the detail says what stands against it.
        QueryWrong: it cannot be parsed.
    """
    _check_characters(text)
    if dialect == "postgres" and _SHOW.fullmatch(text):
        return SqlStatement(text, rows=False)
    explain = _EXPLAIN.match(text)
    inner = text[explain.end() :] if explain else text
    if not _BEGINS.match(inner):
        raise WritesRefused("the statement begins with no word of one that reads")
    _check_reads(inner, dialect)
    names = _function_names(inner, dialect)
    if wrong := sorted(name for name in names if FORBIDDEN.fullmatch(name)):
        raise WritesRefused(f"{wrong[0]} does more than read")
    return SqlStatement(text, explain is None, names)


def single_statement(text: str, dialect: Dialect) -> SqlStatement:
    """The statement of a skill that may write. Raises WritesRefused, QueryWrong: not one, or it cannot be parsed."""
    _parse_statement(text, dialect)
    return SqlStatement(text, rows=False)


def _check_characters(text: str) -> None:
    if len(text) > _LONGEST:
        raise QueryWrong(f"{len(text):,} characters; {_LONGEST:,} are read")
    for character in text:
        # What looks like a blank and is none to the database, or turns the direction of what a person reads.
        if character not in " \t\n\r" and unicodedata.category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Cs"):
            raise WritesRefused(f"the statement has the character U+{ord(character):04X} in it")
    if _UNSURE.search(text):
        raise WritesRefused("texts in the forms E'…', U&'…' and $…$ are not read here; write '…'")


def _parse_statement(text: str, dialect: Dialect) -> "exp.Expr":
    import sqlglot  # a quarter of a second

    try:
        found = [part for part in sqlglot.parse(text, dialect=dialect) if part is not None]
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise QueryWrong("the statement cannot be parsed") from None
    if len(found) != 1:
        raise WritesRefused(f"{len(found)} statements; one is run")
    return found[0]


def _check_reads(text: str, dialect: Dialect) -> None:
    from sqlglot import exp

    tree = _parse_statement(text, dialect)
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Values | exp.Subquery | exp.Table):
        raise WritesRefused(f"{tree.key} is no statement that reads")
    rows = exp.DML, exp.Into, exp.Lock, exp.Merge, exp.Copy, exp.Insert, exp.Update, exp.Delete, exp.LoadData
    tables = exp.DDL, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Analyze, exp.Attach, exp.Detach
    sessions = exp.Command, exp.Set, exp.Transaction, exp.Commit, exp.Rollback, exp.Pragma, exp.Grant, exp.Kill, exp.Use
    for node in tree.find_all(*rows, *tables, *sessions):
        # A query is of the class DDL there too, for CREATE TABLE AS; itself it changes nothing.
        if not isinstance(node, exp.Query):
            raise WritesRefused(f"the statement has {node.key} in it")


def _function_names(text: str, dialect: Dialect) -> frozenset[str]:
    """Every name before a parenthesis, and every one after a dot: `row.name` may call a function as well."""
    from sqlglot import TokenType
    from sqlglot.dialects import Dialect as Known

    tokens = Known.get_or_raise(dialect).tokenize(text)
    found = set()
    for number, token in enumerate(tokens):
        called = number + 1 < len(tokens) and tokens[number + 1].token_type is TokenType.L_PAREN
        dotted = number > 0 and tokens[number - 1].token_type is TokenType.DOT
        if (called or dotted) and token.text and (token.text[0].isalpha() or token.text[0] in "_"):
            found.add(token.text.lower())
    return frozenset(found)
