"""Letters of scripts that are written without spaces between words."""

from typing import Final

UNSPACED: Final = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u104c-\u109d\u1780-\u17d3\u17d7\u17dc\u17dd\u3005\u3007"
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana and Han, as ranges for a character class."""
