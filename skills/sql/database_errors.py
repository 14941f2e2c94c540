"""Errors of a database, by name; no text of a driver is passed on where it may quote how to log in."""

from cluster.basics.errors import Forbidden, Invalid, Permanent, Transient, Unavailable


class WritesRefused(Forbidden):
    """This skill only reads, and the statement could do more."""

    code = "sql_writes_refused"
    fix = "Ask with one SELECT, VALUES, SHOW or EXPLAIN."


class QueryWrong(Invalid):
    """The database does not accept the statement."""

    code = "sql_query_wrong"


class DatabaseUnknown(Permanent):
    """The credential's address is of no database that this skill asks."""

    code = "sql_database_unknown"
    fix = "Write dsn as postgresql://user:password@host/database, or sqlite:////folder/file."


class FileNotAllowed(Forbidden):
    """This file of SQLite may not be opened."""

    code = "sql_file_not_allowed"
    fix = "An administrator may name its folder in `skills.sqlite_dirs` (AOS_SKILLS_SQLITE_DIRS)."


class DatabaseDenied(Permanent):
    """The database does not let this credential in, or not to this."""

    code, status = "sql_denied", 502
    fix = "Check the credential's dsn, and what its role is granted."


class DatabaseUnreachable(Unavailable):
    """The database cannot be reached."""

    code = "sql_unreachable"


class DatabaseBusy(Transient):
    """The database cannot do it now."""

    code, status = "sql_busy", 503


class QueryTimeout(Transient):
    """The query did not end in its time, and was stopped."""

    code, status = "sql_timeout", 504


class ExtensionMissing(Permanent):
    """The database lacks an extension that this skill reads."""

    code, status = "sql_extension_missing", 409
