"""The encoding that a person sets for a text whose bytes do not tell it."""

import codecs
import re
from typing import Final

from cluster.basics.errors import Invalid
from pipelines.documents.chunk.language import CODES

AUTO: Final = "auto"
"""Takes back what was set: the bytes decide again."""

FIX: Final = "Such as utf-8, cp1250, cp1251, koi8-r, gb18030, shift_jis; or auto, so that the bytes decide."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,39}")


def canonical_encoding(name: str) -> str:
    """Python's own name of an encoding, so that two names of one are not two encodings.

    Raises Invalid: there is no such encoding of text.
    """
    if _NAME.fullmatch(name) is None:
        raise Invalid("this is no name of an encoding", fix=FIX)
    try:
        b"a".decode(name, "replace")  # refuses what is a codec and no encoding of text, such as base64
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise Invalid(f"there is no encoding {name}", fix=FIX) from error


def code_of(language: str) -> str | None:
    """The ISO 639-1 code of a workspace's language, which has the name of a text search configuration of Postgres."""
    return CODES.get(language)
