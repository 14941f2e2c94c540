"""The tables that can be had as Parquet, by name: known without the library that writes them."""

from enum import StrEnum


class ExportTable(StrEnum):
    """A table that can be had as Parquet."""

    PAGES = "pages"
    WORDS = "words"
    BLOCKS = "blocks"
    CELLS = "cells"
    CHUNKS = "chunks"
