"""What is told of every setting, and which layer decides it."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.state.settings.settings_rows import StoredSettings, layer_settings, open_rows, sealed_value, setting_place
from cluster.state.vault import Vault, VaultKey
from configs import keys
from configs.keys import Part
from configs.sections import Settings
from configs.settings import InvalidConfiguration, Source, load_settings, read_layers

COLOURED = {
    "blue": ["API_HOST", "API_PORT", "AUTH_SECRET_KEY", "LOG_LEVEL", "CORS_ORIGINS"],
    "green": ["POSTGRES_HOST", "POSTGRES_PORT", "POSTGRES_DATABASE", "POSTGRES_USER", "POSTGRES_PASSWORD"],
    "amber": ["REDIS_HOST", "REDIS_PORT", "REDIS_PASSWORD", "LLM_BASE_URL", "LLM_DEFAULT_MODEL", "LLM_API_KEY"],
    "purple": ["NFS_BASE_PATH"],
}
KNOWN = keys.setting_keys()
ROOT = Path(keys.__file__).resolve().parents[1]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_ad_01_four_coloured_groups_and_every_setting_is_in_one_group() -> None:
    """AD-01: the page's names in its order; the other sections are groups of their own."""
    groups = keys.setting_groups()
    found = {g.colour: [KNOWN[name].environment for name in g.keys] for g in groups if g.colour != "grey"}
    assert found == COLOURED
    assert len({group.id for group in groups}) == len(groups)
    named = [name for group in groups for name in group.keys]
    assert sorted(named) == sorted(KNOWN) and len(named) == len(set(named))
    assert all(group.about for group in groups)


def test_every_setting_of_the_sections_is_told_with_its_default() -> None:
    plain = Settings()
    assert set(KNOWN) >= {f"search.{key}" for key in type(plain.search).model_fields} | {"log_level", "chunk.size"}
    for name, key in KNOWN.items():
        assert key.default == keys.value_of(plain, name), name
        assert key.live or key.restart, f"{name}: who takes it up?"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("chunk.size", {"kind": "integer", "minimum": 100, "default": 1500, "environment": "RAG_CHUNK_SIZE"}),
        ("sandbox.seconds", {"kind": "number", "above": 0, "maximum": 600}),
        ("log_level", {"kind": "choice", "choices": ("DEBUG", "INFO", "WARNING", "ERROR")}),
        ("embedding.gpu", {"kind": "choice", "choices": ("auto", True, False)}),
        ("memory.extract_facts", {"kind": "switch", "default": True, "choices": ()}),
        ("ocr.languages", {"kind": "list", "default": ["auto"], "nullable": False}),
        ("llm.api_key", {"kind": "text", "secret": True, "nullable": True}),
        ("worker.poll_seconds", {"environment": "AOS_WORKER_POLL_SECONDS", "restart": (Part.WORKER,)}),
        ("agents.temperature", {"live": (Part.GATEWAY,), "restart": (), "maximum": 2}),
        ("rerank.max_tokens", {"live": (), "restart": (Part.GATEWAY, Part.RERANKER)}),
        ("postgres.host", {"restart": (Part.WHOLE,), "live": ()}),
    ],
)
def test_a_key_tells_type_bounds_and_reach(name: str, told: dict[str, object]) -> None:
    assert {field: getattr(KNOWN[name], field) for field in told} == told


def test_tables_about_settings_name_settings() -> None:
    """A misspelt name would silently claim nothing."""
    sections = {name.partition(".")[0] for name in KNOWN}
    assert set(keys.LIVE) <= set(KNOWN)
    for table in (keys._FIXED, keys._READ_BY):
        assert set(table) <= set(KNOWN) | sections
    assert not [name for name in keys.LIVE if KNOWN[name].fixed], "what no row may set needs no claim"


@pytest.mark.parametrize(
    ("part", "places"),
    [(Part.WORKER, ("pipelines",)), (Part.EMBEDDING, ("serve_apps/embedding.py", "cluster/models/embedding/local.py"))],
)
def test_ad_06_whoever_reads_a_setting_is_named_for_its_restart(part: Part, places: tuple[str, ...]) -> None:
    """AD-06: what a program's code asks of the settings is told to need its restart, unless no row may set it."""
    found = set()
    for place in places:
        path = ROOT / place
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            found |= set(re.findall(r"\bsettings\.(\w+)\b(?:\.(\w+))?", file.read_text("utf-8")))
    sections = {name.partition(".")[0] for name in KNOWN if "." in name}
    asked = {(section, key) for section, key in found if section in sections}
    for section, key in asked:
        named = (
            [f"{section}.{key}"] if f"{section}.{key}" in KNOWN else [n for n in KNOWN if n.startswith(f"{section}.")]
        )
        for name in named:
            told = KNOWN[name]
            assert told.fixed or Part.WHOLE in told.restart or part in (*told.restart, *told.live), f"{part}: {name}"
    assert asked


@pytest.mark.parametrize(
    "name", ["postgres.password", "http.port", "models.vault_key", "skills.shell_allow", "sandbox.untrusted_without"]
)
def test_what_a_stolen_session_must_not_open_is_no_row(name: str) -> None:
    """Where the database is, and what may run on the machine, is said on the machine."""
    assert KNOWN[name].fixed


def test_re_27_every_value_has_a_source(tmp_path: Path) -> None:
    """RE-27: files, then rows, then the environment."""
    extra = tmp_path / "site.yaml"
    extra.write_text("chunk: {size: 900, overlap: 90}\nsearch: {fetch: 50}\n")
    env = {"AOS_CONFIG": str(extra), "RAG_CHUNK_SIZE": "700"}
    found = read_layers(env, {"chunk.size": 800, "search.fetch": 60, "search.rrf_k": 20})
    told = {name: (keys.value_of(found.settings, name), found.source(name)) for name in KNOWN}
    assert told["chunk.size"] == (700, Source.ENVIRONMENT)
    assert told["search.fetch"] == (60, Source.ROW) and told["search.rrf_k"] == (20, Source.ROW)
    assert told["chunk.overlap"] == (90, Source.YAML)
    assert told["search.b"] == (0.4, Source.DEFAULT)
    assert told["log_level"][1] is Source.YAML


def kept(**values: object) -> StoredSettings:
    return StoredSettings(3, {name.replace("__", "."): value for name, value in values.items()}, {}, {})


def test_a_row_that_is_not_valid_is_left_out_and_named() -> None:
    """Written past the API, it must not keep everything from starting."""
    found, left_out = layer_settings(kept(search__fetch=-1, search__rrf_k=20, chunk__size="many"), {})
    assert (found.settings.search.rrf_k, found.settings.search.fetch) == (20, 100)
    assert left_out == {"search.fetch": "its value is not valid", "chunk.size": "its value is not valid"}
    with pytest.raises(InvalidConfiguration, match=r"chunk\.size"):
        layer_settings(kept(search__rrf_k=20), {"RAG_CHUNK_SIZE": "many"})


DETECTED = {
    "embedding__detected": "ollama",
    "embedding__base_url": "http://127.0.0.1:11434",
    "embedding__model": "qwen3-embedding:0.6b",
}


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"AOS_EMBEDDING_DETECT": "false"}, "detection is off"),
        ({"EMBEDDING_BASE_URL": "https://embed.example/v1"}, "another server is named"),
        ({"EMBEDDING_MODEL": "text-embedding-9"}, "another model is named"),
        ({"EMBEDDING_MODEL": "packaged"}, "another model is named"),
    ],
)
def test_em_02_what_was_detected_is_left_out_where_something_else_is_named(
    environment: dict[str, str], why: str
) -> None:
    """Its server does not have another model; another server does not have its model."""
    found, left_out = layer_settings(kept(**DETECTED), environment)
    plain = read_layers(environment).settings.embedding
    assert found.settings.embedding == plain and found.settings.embedding.detected is None
    assert set(left_out) == {name.replace("__", ".") for name in DETECTED}
    assert all(why in reason for reason in left_out.values())


def test_em_02_a_site_file_that_names_a_server_beats_what_was_detected(tmp_path: Path) -> None:
    extra = tmp_path / "site.yaml"
    extra.write_text("embedding: {base_url: 'https://embed.example/v1', model: e}\n")
    found, left_out = layer_settings(kept(**DETECTED), {"AOS_CONFIG": str(extra)})
    assert (found.settings.embedding.base_url, found.settings.embedding.model) == ("https://embed.example/v1", "e")
    assert len(left_out) == 3


@pytest.mark.parametrize("environment", [{}, {"EMBEDDING_MODEL": "qwen3-embedding:0.6b"}])
def test_em_02_what_was_detected_counts_as_long_as_nothing_else_is_named(environment: dict[str, str]) -> None:
    found, left_out = layer_settings(kept(**DETECTED), environment)
    assert found.settings.embedding.base_url == DETECTED["embedding__base_url"] and not left_out
    tagged = DETECTED | {"embedding__model": "bge:latest"}
    assert not layer_settings(kept(**tagged), {"EMBEDDING_MODEL": "bge"})[1]


def test_em_02_a_server_that_was_set_after_a_detection_is_no_part_of_it() -> None:
    rows = kept(**DETECTED | {"embedding__base_url": "https://embed.example/v1"})
    later = NOW + timedelta(seconds=1)
    changed = dict.fromkeys(rows.values, NOW) | {"embedding.base_url": later}
    found, left_out = layer_settings(replace(rows, changed=changed), {"AOS_EMBEDDING_DETECT": "false"})
    assert found.settings.embedding.base_url == "https://embed.example/v1"
    assert set(left_out) == {"embedding.detected", "embedding.model"}


def test_rows_that_do_not_count_say_why() -> None:
    vault = Vault([VaultKey(b"k" * 32)])
    rows = [
        {"key": "chunk.size", "value": 800, "updated_at": NOW},
        {"key": "gone.setting", "value": 1, "updated_at": NOW},
        {"key": "http.port", "value": 1, "updated_at": NOW},
        {"key": "llm.api_key", "value": "in the open", "updated_at": NOW},
        {
            "key": "redis.password",
            "value": sealed_value(vault.seal("s3cret", setting_place("redis.password"))),
            "updated_at": NOW,
        },
        {
            "key": "vllm.api_key",
            "value": sealed_value(vault.seal("s3cret", setting_place("redis.password"))),
            "updated_at": NOW,
        },
    ]
    found = open_rows(rows, 7, vault)
    assert found.values == {"chunk.size": 800, "redis.password": "s3cret"} and found.version == 7
    assert set(found.left_out) == {"gone.setting", "http.port", "llm.api_key", "vllm.api_key"}
    assert "s3cret" not in repr(found)


def test_the_mark_of_a_restart_is_no_setting() -> None:
    assert load_settings({"AOS_RESTART": "7"}) == load_settings({})
