"""The one reader of configuration: layered YAML, then system_settings rows, then `.env` and the environment; frozen."""

import io
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from dotenv.parser import parse_stream
from pydantic import BaseModel, ValidationError

from configs.section import Section
from configs.sections import Settings

Model = TypeVar("Model", bound=BaseModel)

HERE = Path(__file__).parent
ENV_FILE = HERE.parent / ".env"  # one place for every process: their working directories differ


class InvalidConfiguration(Exception):
    """The configuration is not valid; every line names a key and its fix."""

    def __init__(self, lines: str, keys: tuple[str, ...] = ()) -> None:
        """`keys`: the dotted names that the lines are about, where they are about settings."""
        super().__init__(lines)
        self.keys = keys


class Source(StrEnum):
    """The layer that a value comes from; the later beats the earlier."""

    DEFAULT = "default"
    YAML = "yaml"
    ROW = "row"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class LayeredSettings:
    """A snapshot, and for every dotted name that is not at its default which layer decided it."""

    settings: Settings
    sources: Mapping[str, Source]

    def source(self, name: str) -> Source:
        """The layer that the value of a dotted name comes from."""
        return self.sources.get(name, Source.DEFAULT)


# The names the documentation uses; every other setting is reachable as AOS_<SECTION>_<KEY>.
SPOKEN_NAMES: dict[str, str] = {
    "DATABASE_URL": "postgres.url",
    "DATABASE_ADMIN_URL": "postgres.admin_url",
    "POSTGRES_HOST": "postgres.host",
    "POSTGRES_PORT": "postgres.port",
    "POSTGRES_DATABASE": "postgres.database",
    "POSTGRES_USER": "postgres.user",
    "POSTGRES_PASSWORD": "postgres.password",
    "POSTGRES_ADMIN_USER": "postgres.admin_user",
    "POSTGRES_ADMIN_PASSWORD": "postgres.admin_password",
    "DB_POOL_SIZE": "postgres.pool_size",
    "DB_MAX_OVERFLOW": "postgres.max_overflow",
    "DB_POOL_TIMEOUT": "postgres.pool_timeout",
    "REDIS_URL": "redis.url",
    "REDIS_HOST": "redis.host",
    "REDIS_PORT": "redis.port",
    "REDIS_PASSWORD": "redis.password",
    "AUTH_SECRET_KEY": "auth.secret_key",
    "AOS_ADMIN_EMAIL": "auth.admin_email",
    "AOS_ADMIN_PASSWORD": "auth.admin_password",
    "API_HOST": "http.host",
    "API_PORT": "http.port",
    "LOG_LEVEL": "log_level",
    "CORS_ORIGINS": "http.cors_origins",
    "NFS_BASE_PATH": "read.nfs_base_path",
    "MIN_USEFUL_TEXT": "read.min_useful_text",
    "OCR_STRATEGY": "ocr.strategy",
    "OCR_DPI": "ocr.dpi",
    "OCR_CONFIDENCE_THRESHOLD": "ocr.confidence_threshold",
    "OCR_LANGUAGES": "ocr.languages",
    "RAG_CHUNK_SIZE": "chunk.size",
    "RAG_CHUNK_OVERLAP": "chunk.overlap",
    "RAG_CACHE_ENABLED": "cache.enabled",
    "RAG_CACHE_RISK": "cache.risk",
    "RAG_CACHE_SIMILARITY_THRESHOLD": "cache.similarity_threshold",
    "RAG_CACHE_TTL_SECONDS": "cache.ttl_seconds",
    "EMBEDDING_MODEL": "embedding.model",
    "EMBEDDING_BASE_URL": "embedding.base_url",
    "EMBEDDING_API_KEY": "embedding.api_key",
    "EMBEDDING_API_TIMEOUT": "embedding.seconds",
    "EMBEDDING_API_MAX_RETRIES": "embedding.attempts",
    "EMBEDDING_FORMER_MODEL": "embedding.former_model",
    "EMBEDDING_FORMER_BASE_URL": "embedding.former_base_url",
    "EMBEDDING_FORMER_API_KEY": "embedding.former_api_key",
    "RAG_RERANK_ENABLED": "rerank.remote_enabled",
    "RAG_RERANK_URL": "rerank.remote_url",
    "RAG_RERANK_MODEL": "rerank.remote_model",
    "RAG_RERANK_API_KEY": "rerank.remote_key",
    "DEEP_AGENT_PLANNING_ENABLED": "agents.planning_enabled",
    "DEEP_AGENT_MAX_PLAN_STEPS": "agents.max_plan_steps",
    "DEEP_AGENT_PLAN_STYLE": "agents.plan_style",
    "LLM_BASE_URL": "llm.base_url",
    "LLM_DEFAULT_MODEL": "llm.model",
    "LLM_API_KEY": "llm.api_key",
    "RAY_ADDRESS": "ray.address",
    "RAY_AUTH_TOKEN": "ray.auth_token",
}

# Switches of the program itself, not settings of a section.
# AOS_RESTART changes when an application is to be restarted; nobody reads it, Ray Serve compares it. AOS_PYTHON is a
# node's Python, for the shell that starts workers of bulk jobs behind everything else. AOS_ENV_FILE is read instead of
# `.env`; empty: none is.
PROGRAM_NAMES = frozenset(
    {"AOS_CONFIG", "AOS_TOKEN", "AOS_URL", "AOS_PROFILE", "AOS_STATE_DIR", "AOS_RESTART", "AOS_PYTHON", "AOS_ENV_FILE"}
)

PROFILES = ("dev", "light", "prod")


def load_settings(environment: Mapping[str, str] | None = None, rows: Mapping[str, Any] | None = None) -> Settings:
    """Read every layer once and return one immutable snapshot.

    `environment`: that of the process and what `.env` adds unless given; tests pass their own. `rows`: those of
    `system_settings`, dotted key to value; they beat YAML and lose to the environment.

    Raises InvalidConfiguration: with a line for each unknown key, wrong type or known default secret.
    """
    return read_layers(environment, rows).settings


def read_layers(environment: Mapping[str, str] | None = None, rows: Mapping[str, Any] | None = None) -> LayeredSettings:
    """As `load_settings`, and which layer each value comes from."""
    env = with_env_file(os.environ) if environment is None else environment
    profile = env.get("AOS_PROFILE", "dev")
    tree: dict[str, Any] = {}
    for path in _config_files(profile, env.get("AOS_CONFIG")):
        _merge_tree(tree, _read_yaml(path))
    sources = dict.fromkeys(_leaf_names(tree), Source.YAML)
    for source, values in ((Source.ROW, rows or {}), (Source.ENVIRONMENT, _from_environment(env))):
        for dotted, value in values.items():
            _set_dotted(tree, dotted, value)
            sources[dotted] = source
    tree["profile"] = profile
    sources["profile"] = Source.ENVIRONMENT if "AOS_PROFILE" in env else Source.DEFAULT
    if "AOS_STATE_DIR" in env:
        tree["state_dir"], sources["state_dir"] = env["AOS_STATE_DIR"], Source.ENVIRONMENT
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        keys = tuple(dict.fromkeys(".".join(str(part) for part in one["loc"][:2]) for one in error.errors()))
        raise InvalidConfiguration("\n".join(_explain_errors(error)), keys) from None
    settings = settings.model_copy(update={"state_dir": settings.state_dir.expanduser().absolute()})
    return LayeredSettings(settings, sources)


def adopt_env_file() -> None:
    """Give this process, and what it starts, the names of `.env` that its environment lacks.

    Raises InvalidConfiguration as `with_env_file`.
    """
    os.environ.update(with_env_file(os.environ))


def choose_light_profile() -> None:
    """Give this process, and what it starts, the profile `light`.

    Raises InvalidConfiguration: the environment names `prod`, which is not of one machine.
    """
    if os.environ.get("AOS_PROFILE", "dev") == "prod":
        raise InvalidConfiguration("--light is of one machine, and AOS_PROFILE is prod; leave one of them out")
    os.environ["AOS_PROFILE"] = "light"


def env_file_path(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The file that is read: AOS_ENV_FILE, else `.env` beside configs/ where it is; None where none is."""
    named = environment.get("AOS_ENV_FILE")
    if named is None:
        return ENV_FILE if ENV_FILE.exists() else None
    return Path(named).absolute() if named else None


def with_env_file(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, and below it what the file adds that AOS_ENV_FILE names, else `.env` beside configs/.

    A name of a file is made absolute: children are given it, and may run in other folders.

    Raises InvalidConfiguration: a file that was named is not there, cannot be read, has lines that are no `NAME=value`,
    or holds secrets and is open to others.
    """
    path = env_file_path(environment)
    if path is None:
        return dict(environment)
    named = {"AOS_ENV_FILE": str(path)} if "AOS_ENV_FILE" in environment else {}
    return _read_env_file(path) | dict(environment) | named


def _read_env_file(path: Path) -> dict[str, str]:
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidConfiguration(f"{path}: cannot be read: {why}; correct it, or AOS_ENV_FILE= skips it") from None
    lines = list(parse_stream(io.StringIO(text)))
    # The line itself is not repeated: it may hold a secret.
    if wrong := [one.original.line for one in lines if one.error or (one.key is not None and one.value is None)]:
        raise InvalidConfiguration("\n".join(f"{path}, line {line}: not NAME=value" for line in wrong))
    found = {one.key: one.value for one in lines if one.key is not None and one.value is not None}
    held = sorted(name for name, value in found.items() if value and _names_secret(name))
    if held and stat.S_IMODE(mode) & 0o077:
        raise InvalidConfiguration(f"{path}: holds {', '.join(held)} and is open to others; run: chmod 600 {path}")
    return found


def _names_secret(name: str) -> bool:
    section, _, key = (SPOKEN_NAMES | _generic_names()).get(name, "").partition(".")
    return name == "AOS_TOKEN" or (bool(key) and section_types()[section].is_secret(key))


def _config_files(profile: str, extra: str | None) -> list[Path]:
    layers = [HERE / "base.yaml", HERE / f"{profile}.yaml"]
    if not layers[1].exists():
        raise InvalidConfiguration(f"AOS_PROFILE={profile}: there is no such profile; use one of {', '.join(PROFILES)}")
    return layers + ([Path(extra)] if extra else [])


def _read_yaml(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InvalidConfiguration(f"{path}: no such file; correct AOS_CONFIG")
    loaded = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    if not isinstance(loaded, dict):
        raise InvalidConfiguration(f"{path}: must be a mapping of sections")
    return cast(dict[str, Any], loaded)


def read_operator_file(path: Path, model: type[Model], setting: str) -> Model:
    """A YAML file that an operator writes beside the settings; `setting` names it. An empty one has no values.

    Raises InvalidConfiguration: with a line for each mistake. A value may be a secret, and is in none of them.
    """
    try:
        return model.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except OSError as error:
        raise InvalidConfiguration(f"{path}: {error.strerror}; correct {setting}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise InvalidConfiguration(f"{path}{where}: this is no YAML") from None
    except ValidationError as error:
        lines = (f"{path}: {'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False))
        raise InvalidConfiguration("\n".join(lines)) from None


def _merge_tree(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge_tree(into[key], value)
        else:
            into[key] = value


def _set_dotted(tree: dict[str, Any], dotted: str, value: Any) -> None:
    *sections, key = dotted.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[key] = value


def _leaf_names(tree: Mapping[str, Any]) -> Iterator[str]:
    for section, value in tree.items():
        if isinstance(value, dict):
            yield from (f"{section}.{key}" for key in value)
        else:
            yield section


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    names = SPOKEN_NAMES | _generic_names()
    if unknown := sorted(n for n in env if n.startswith("AOS_") and n not in names and n not in PROGRAM_NAMES):
        raise InvalidConfiguration("\n".join(f"{name}: unknown; see configs/settings.py" for name in unknown))
    found = {names[name]: env[name] for name in names if env.get(name, "") != ""}
    return {dotted: _split_list(dotted, value) for dotted, value in found.items()}


def environment_names() -> dict[str, str]:
    """Every dotted name with the name it has in the environment: the documented one where there is one."""
    found = {dotted: name for name, dotted in _generic_names().items()}
    return found | {dotted: name for name, dotted in SPOKEN_NAMES.items()}


def _generic_names() -> dict[str, str]:
    return {
        f"AOS_{section.upper()}_{key.upper()}": f"{section}.{key}"
        for section, owner in section_types().items()
        for key in owner.model_fields
    }


def section_types() -> dict[str, type[Section]]:
    """The sections by name, in their order."""
    kinds = ((name, info.annotation) for name, info in Settings.model_fields.items())
    return {name: kind for name, kind in kinds if isinstance(kind, type) and issubclass(kind, Section)}


def _split_list(dotted: str, value: str) -> Any:
    """Tuples are written with commas in the environment."""
    section, _, key = dotted.partition(".")
    if key and str(section_types()[section].model_fields[key].annotation).startswith("tuple"):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _explain_errors(error: ValidationError) -> list[str]:
    spoken = {dotted: name for name, dotted in SPOKEN_NAMES.items()}
    lines = []
    for problem in error.errors():
        dotted = ".".join(str(part) for part in problem["loc"])
        name = f" ({spoken[dotted]})" if dotted in spoken else ""
        unknown = problem["type"] == "extra_forbidden"
        what = "unknown key; remove it or correct its spelling" if unknown else problem["msg"]
        lines.append(f"{dotted}{name}: {what}")
    return lines
