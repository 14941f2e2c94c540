"""One reader of the configuration: layers, refusals with path and fix."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from configs.section import KNOWN_DEFAULT_SECRETS, Section
from configs.sections import Settings
from configs.settings import InvalidConfiguration, environment_names, load_settings

SECRETS = [
    f"{name}.{key}"
    for name, info in Settings.model_fields.items()
    if isinstance(info.annotation, type) and issubclass(info.annotation, Section)
    for key in info.annotation.model_fields
    if info.annotation.is_secret(key)
]


def test_ch_02_in_08_in_09_defaults_are_the_documented_ones() -> None:
    """CH-02, IN-08, IN-09."""
    settings = load_settings({})
    assert (settings.chunk.size, settings.chunk.overlap) == (1500, 300)
    assert (settings.ocr.dpi, settings.ocr.confidence_threshold) == (300, 0.60)


def test_the_environment_beats_rows_and_rows_beat_files(tmp_path: Path) -> None:
    extra = tmp_path / "site.yaml"
    extra.write_text("chunk: {size: 900, overlap: 90}\nocr: {dpi: 200}\n")
    env = {"AOS_CONFIG": str(extra), "RAG_CHUNK_SIZE": "700"}
    settings = load_settings(env, rows={"chunk.size": 800, "ocr.dpi": 250})
    assert (settings.chunk.size, settings.chunk.overlap, settings.ocr.dpi) == (700, 90, 250)


def test_every_setting_has_a_name_in_the_environment() -> None:
    settings = load_settings({"AOS_WORKER_LEASE_SECONDS": "7", "OCR_LANGUAGES": "eng, deu"})
    assert (settings.worker.lease_seconds, settings.ocr.languages) == (7, ("eng", "deu"))


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"RAG_CHUNK_SIZE": "many"}, "chunk.size (RAG_CHUNK_SIZE)"),
        ({"AOS_CHUNK_SISE": "1"}, "AOS_CHUNK_SISE: unknown"),
        ({"AUTH_SECRET_KEY": "changeme"}, "published default"),
        ({"AOS_ADMIN_PASSWORD": "AOS@Admin2026!"}, "published default"),
        ({"AUTH_SECRET_KEY": "k" * 31}, "auth.secret_key (AUTH_SECRET_KEY): Value error, has less than 32 bytes"),
        ({"AOS_PROFILE": "staging"}, "use one of dev, light, prod"),
        ({"AOS_CONFIG": "/nowhere.yaml"}, "no such file"),
    ],
)
def test_au_02_what_is_wrong_is_refused_with_its_path(env: dict[str, str], told: str) -> None:
    """AU-02: the published default password is refused too."""
    with pytest.raises(InvalidConfiguration) as refused:
        load_settings(env)
    assert told in str(refused.value)


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_a_published_default(name: str) -> None:
    """Also those of servers that this product only talks to; the value itself is not told."""
    for known in sorted(KNOWN_DEFAULT_SECRETS):
        with pytest.raises(InvalidConfiguration, match="is a published default") as refused:
            load_settings({environment_names()[name]: known})
        assert refused.value.keys == (name,)
    load_settings({environment_names()[name]: "k" * 44})


@pytest.mark.parametrize(
    ("name", "url", "published"),
    [
        ("DATABASE_URL", "postgresql://app:postgres@db/aos", True),
        ("DATABASE_URL", "postgresql://app:AOS%40Admin2026!@one,two:5433/aos?sslmode=require", True),
        ("DATABASE_ADMIN_URL", "postgresql://owner@db/aos?password=changeme", True),
        ("REDIS_URL", "redis://:changeme@cache:6379/0", True),
        ("DATABASE_URL", "postgresql://postgres:b2c7fe10@postgres/postgres", False),
        ("DATABASE_URL", "host=/run/postgres user=postgres dbname=admin", False),
        ("REDIS_URL", "unix:///run/password/secret", False),
        ("REDIS_URL", "redis://[broken", False),
    ],
)
def test_the_password_in_a_url_is_no_published_default_either(name: str, url: str, published: bool) -> None:
    if not published:
        load_settings({name: url})
        return
    with pytest.raises(InvalidConfiguration, match="published default as its password") as refused:
        load_settings({name: url})
    assert f"({name})" in str(refused.value) and "@" not in str(refused.value)


def test_an_unknown_key_in_a_file_is_refused(tmp_path: Path) -> None:
    extra = tmp_path / "site.yaml"
    extra.write_text("chunk: {sise: 900}\n")
    with pytest.raises(InvalidConfiguration, match=r"chunk\.sise: unknown key"):
        load_settings({"AOS_CONFIG": str(extra)})


def test_a_snapshot_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load_settings({}).chunk.size = 3  # type: ignore[misc]


def test_names_of_s0_mean_what_they_meant() -> None:
    """EMBEDDING_API_TIMEOUT and EMBEDDING_API_MAX_RETRIES of a batch; DB_MAX_OVERFLOW beside DB_POOL_SIZE."""
    settings = load_settings(
        {"EMBEDDING_API_TIMEOUT": "90", "EMBEDDING_API_MAX_RETRIES": "2", "DB_POOL_SIZE": "20", "DB_MAX_OVERFLOW": "40"}
    )
    assert (settings.embedding.seconds, settings.embedding.attempts) == (90, 2)
    assert (settings.postgres.pool_size, settings.postgres.max_overflow) == (20, 40)
    with pytest.raises(InvalidConfiguration, match=r"embedding\.attempts"):
        load_settings({"EMBEDDING_API_MAX_RETRIES": "0"})
