"""`.env`: below the environment, above everything else; bad lines and open secrets are refused by name."""

from pathlib import Path

import pytest

from configs.settings import ENV_FILE, InvalidConfiguration, load_settings, with_env_file

PRIVATE = 0o600


def env_file(folder: Path, text: str, mode: int = PRIVATE) -> Path:
    path = folder / "aos.env"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_the_environment_beats_the_file_and_the_file_beats_rows_and_defaults(tmp_path: Path) -> None:
    text = "# a comment\n\nRAG_CHUNK_SIZE=700\nexport OCR_DPI=200\nLLM_MODEL_OF_OTHERS='x'\n"
    found = with_env_file({"AOS_ENV_FILE": str(env_file(tmp_path, text)), "RAG_CHUNK_SIZE": "600"})
    settings = load_settings(found, rows={"ocr.dpi": 250})
    assert (settings.chunk.size, settings.ocr.dpi, settings.chunk.overlap) == (600, 200, 300)


def test_quotes_and_dollar_signs_are_kept_as_they_are_meant(tmp_path: Path) -> None:
    text = "DATABASE_URL='postgresql://aos:p$HOME#1@db/aos'\nLLM_DEFAULT_MODEL=\"a b\" # said so\n"
    found = with_env_file({"AOS_ENV_FILE": str(env_file(tmp_path, text))})
    assert found["DATABASE_URL"] == "postgresql://aos:p$HOME#1@db/aos"
    assert found["LLM_DEFAULT_MODEL"] == "a b"


def test_lines_that_say_nothing_are_named_and_not_repeated(tmp_path: Path) -> None:
    path = env_file(tmp_path, "API_PORT=8001\nAUTH_SECRET_KEY\n='only a value'\n")
    with pytest.raises(InvalidConfiguration) as refused:
        with_env_file({"AOS_ENV_FILE": str(path)})
    assert str(refused.value).splitlines() == [f"{path}, line {line}: not NAME=value" for line in (2, 3)]


def test_an_unknown_setting_in_the_file_is_refused_as_everywhere(tmp_path: Path) -> None:
    path = env_file(tmp_path, "AOS_OCR_DPY=300\n")
    with pytest.raises(InvalidConfiguration, match="AOS_OCR_DPY: unknown"):
        load_settings(with_env_file({"AOS_ENV_FILE": str(path)}))


@pytest.mark.parametrize("name", ["AUTH_SECRET_KEY", "DATABASE_URL", "AOS_MODELS_VAULT_KEY", "AOS_TOKEN"])
@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_file_with_secrets_is_its_owners_alone(tmp_path: Path, name: str, mode: int) -> None:
    path = env_file(tmp_path, f"API_PORT=8001\n{name}=0123456789abcdef\n", mode)
    with pytest.raises(InvalidConfiguration) as refused:
        with_env_file({"AOS_ENV_FILE": str(path)})
    assert f"chmod 600 {path}" in str(refused.value) and name in str(refused.value)
    assert "0123456789abcdef" not in str(refused.value)


def test_a_file_without_secrets_may_be_open(tmp_path: Path) -> None:
    path = env_file(tmp_path, "API_PORT=8001\nAUTH_SECRET_KEY=\n", 0o644)
    assert with_env_file({"AOS_ENV_FILE": str(path)})["API_PORT"] == "8001"


def test_a_named_file_must_be_there_and_an_empty_name_turns_it_off(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="cannot be read"):
        with_env_file({"AOS_ENV_FILE": str(tmp_path / "nowhere")})
    assert with_env_file({"AOS_ENV_FILE": ""}) == {"AOS_ENV_FILE": ""}
    assert (ENV_FILE.parent / "pyproject.toml").exists(), "it lies beside what is started"
