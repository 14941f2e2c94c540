"""Skills that ask a database: a query from the manifest, or one that is written for the call."""

import asyncio
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from cluster.basics.errors import AosError, Invalid
from skills.framework.command_template import TRUSTED
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, CredentialType, Manifest, Risk, options_of
from skills.sql import binding, postgres, sqlite
from skills.sql.database_errors import DatabaseUnknown
from skills.sql.login import DatabaseReach
from skills.sql.reading import Dialect, SqlStatement, check_reading, single_statement

QUERY = "query"  # the argument of a free query


class SqlOptions(BaseModel):
    """Options of an SQL skill: a query, or a query as an argument."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    # With `:name` where an argument's value is bound; what is not given is NULL.
    query: str | None = Field(None, min_length=1, max_length=20_000)
    query_argument: StrictBool = False  # the query is the argument `query`
    # Of which database the credential has to be; without it a free query goes to either.
    dialect: Literal["postgres", "sqlite"] | None = None
    # The parser lets only reading statements through, and the database is asked not to write.
    readonly: StrictBool = True
    rows: int = Field(500, ge=1, le=10_000)  # at most so many are given
    needs: str | None = Field(None, pattern=r"^[a-z_][a-z0-9_]*$")  # an extension of Postgres that the query reads

    @model_validator(mode="after")
    def _check_query(self) -> "SqlOptions":
        if (self.query is not None) == self.query_argument:
            raise ValueError("query or query_argument: one of them")
        if self.query is not None and self.dialect is None:
            raise ValueError("a query has a dialect")
        return self


class SqlSkill:
    """One query to the database of the credential."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where options, parameters, risk and roles do not fit together."""
        how = options_of(manifest, SqlOptions)
        _check_manifest(manifest, how)
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._how, self._credentials = manifest, how, ground.credentials
        most = ground.settings.result_bytes * 7 // 8
        self._limits = postgres.QueryLimits(manifest.seconds, how.rows, most, how.readonly)
        self._reach = DatabaseReach(ground.hosts, ground.resolve, ground.settings.sqlite_dirs)
        self._statement: SqlStatement | None = None
        if how.query is not None and how.dialect is not None:
            try:
                self._statement = _checked_statement(how.query, how.dialect, how.readonly)
            except AosError as error:
                raise BadManifest(f"{manifest.name}: {error.detail}") from error

    async def run(self, call: ToolInvocation) -> Any:
        """Give {columns, rows}, each row a list, with {cut} where there is more; or {affected}.

        Raises:
            WritesRefused, QueryWrong: the statement is not one for this skill, or none at all.
            DatabaseUnknown: the credential is for another database.
            AosError: those of `CredentialOpener.open`, `postgres.ask` and `sqlite.ask`; none quotes a secret.
        """
        how = self._how
        secret = await self._credentials.open(call, self._manifest)
        dsn = secret.get("dsn", "")
        dialect = _dsn_dialect(dsn)
        if how.dialect not in (None, dialect):
            raise DatabaseUnknown(f"{self._manifest.name} asks {how.dialect}; {secret.name} is for {dialect}", fix="")
        statement, values = self._statement, {}
        if statement is None:
            text = call.arguments.get(QUERY)
            if not isinstance(text, str) or not text.strip():
                raise Invalid("query is an empty text, or none")
            statement = await asyncio.to_thread(_checked_statement, text, dialect, how.readonly)
        else:
            given = self._manifest.defaults | dict(call.arguments)
            values = binding.bound_values(binding.bound_names(statement.text), given)
        if dialect == "sqlite":
            return await sqlite.ask_sqlite(dsn, statement, values, self._limits, self._reach.folders)
        return await postgres.ask_postgres(dsn, statement, values, self._limits, self._reach, how.needs)


build = SqlSkill


def _checked_statement(text: str, dialect: Dialect, readonly: bool) -> SqlStatement:
    return check_reading(text, dialect) if readonly else single_statement(text, dialect)


def _dsn_dialect(dsn: str) -> Dialect:
    scheme, mark, _ = dsn.partition("://")
    if mark and scheme == "sqlite":
        return "sqlite"
    if dsn and (not mark or scheme in ("postgres", "postgresql") or "=" in scheme):
        return "postgres"
    raise DatabaseUnknown("dsn is of neither")


def _check_manifest(manifest: Manifest, how: SqlOptions) -> None:
    if manifest.credential is not CredentialType.DB_DSN:
        raise BadManifest(f"{manifest.name}: skills of type sql have `credential: db_dsn`")
    if (manifest.risk is Risk.READ) != how.readonly:
        raise BadManifest(f"{manifest.name}: risk {manifest.risk} and readonly {how.readonly} do not fit")
    known = set(manifest.parameters.get("properties", {}))
    wanted = {QUERY} if how.query is None else binding.bound_names(how.query)
    if known != wanted:
        names = ", ".join(sorted(known ^ wanted))
        raise BadManifest(f"{manifest.name}: parameters and what the query binds differ in {names}")
    destroys = how.query is None and not how.readonly
    if destroys and (manifest.risk is not Risk.DESTRUCTIVE or not set(manifest.permissions) <= TRUSTED):
        raise BadManifest(f"{manifest.name}: a free statement is destructive, and for operators and admins")
