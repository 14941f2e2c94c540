"""Reads a YAML file that an operator writes beside the settings; its mistakes are told without what stands there."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from configs.settings import InvalidConfiguration

Model = TypeVar("Model", bound=BaseModel)


def read_operator_file(path: Path, model: type[Model], setting: str) -> Model:
    """The file as `model`; `setting` is the one that names it. An empty file is one without any value.

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
