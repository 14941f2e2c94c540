"""The datasets of an exported workspace: their columns, and the version of the format.

Each is a folder of Parquet files, a file a part: `pages/000001.parquet`. Rows of a part are sorted by document. Columns
that end in JSON hold it as text. Pages count from 1, ordinals from 0 or as stored; boxes are fractions of the page.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import pyarrow as pa

FORMAT: Final = "aos-workspace"
FORMAT_VERSION: Final = 1  # whoever reads refuses a newer one; columns may be added without a new version

_TYPES: Final = {
    "text": pa.string(),
    "json": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "texts": pa.list_(pa.string()),
    "vector": pa.list_(pa.float32()),
}

# Of the documents of a part, in the order in which they are written and read.
_OF_DOCUMENTS: Final = {
    "documents": (
        "document_id text, origin text, filename text, file_type text, source_type text, status text, failure json,"
        " readers texts, own_readers bool, tags texts, description text, metadata json, created_by text,"
        " version_id text, chunk_count int, has_embeddings bool, upload_date time, processed_date time, caveats json,"
        " chunk_strategy text, parent_id text, classification text, classification_rank int, classified_by text"
    ),
    "versions": (
        "document_id text, version_id text, file_hash text, file_size long, kind text, page_count int, reads long,"
        " tables_of_reads long, created_at time, has_bytes bool"
    ),
    "pages": (
        "document_id text, version_id text, page int, text text, engine text, confidence float, attempts json, ms int,"
        " fingerprint text, failure json, read_at time, caveats json, reading json, revision int, reviewed_at time,"
        " reviewed_by text, personal_data json"
    ),
    "words": (
        "document_id text, version_id text, page int, ordinal int, start int, text text, x0 double, y0 double,"
        " x1 double, y1 double, confidence double"
    ),
    "tables": ("document_id text, version_id text, ordinal int, page int, headings texts, row_count int, content json"),
    # For people and other programs: what `tables` has as JSON, a cell a row. An import does not need it.
    "cells": (
        "document_id text, version_id text, page int, table int, kind text, section text, row int, column int,"
        " heading text, text text, start int, end int, x0 float, y0 float, x1 float, y1 float"
    ),
    "corrections": (
        "document_id text, version_id text, correction_id text, file_hash text, page int, revision int,"
        " made_by text, at time, line int, start_at int, text_before text, text_after text, whole bool, box json,"
        " reembedded int, searchable text, unplaced_in texts"
    ),
    "chunks": (
        "document_id text, version_id text, chunk_id text, ordinal int, chunker text, text text, search_text text,"
        " page_start int, page_end int, spans json, boxes json, headings texts, metadata json, language text,"
        " engine text, confidence float, caveats json"
    ),
    "vectors": "document_id text, chunk_id text, embedding vector",
    "indexed": "document_id text, version_id text, reads long, chunks int, embedded bool",
    "mentions": (
        "document_id text, version_id text, page int, entity_type text, entity_name text, type text, name text,"
        " alias text, start_at int, end_at int, quote_start int, quote_end int, occurrences int, confidence float,"
        " found_by text"
    ),
    "relations": (
        "document_id text, version_id text, page int, start_at int, end_at int, evidence text, strength float,"
        " found_by text, type text, source_type text, source_name text, target_type text, target_name text"
    ),
    "graphs": (
        "document_id text, version_id text, reads long, fingerprint text, entities int, relations int, note text"
    ),
    "links": "document_id text, agent_id text",
}

# Of the workspace, in one file each.
_OF_WORKSPACE: Final = {
    "agents": (
        "agent_id text, name text, description text, system_prompt text, auto_link_uploads bool, config json,"
        " metadata json, whole_workspace bool"
    ),
    "agent_skills": "agent text, skill text, version int",
    "golden_sets": "set_id text, name text, description text, gate bool, least_recall double",
    "golden_questions": (
        "set_id text, key text, question text, documents texts, passages texts, answers texts, answerable bool"
    ),
    "folder_readers": "folder text, prefixes texts, readers texts",
}


def _schema(columns: str) -> pa.Schema:
    pairs = (column.split() for column in columns.split(", "))
    return pa.schema([(name, _TYPES[kind]) for name, kind in pairs])


DOCUMENT_DATASETS: Final[Mapping[str, pa.Schema]] = MappingProxyType(
    {name: _schema(columns) for name, columns in _OF_DOCUMENTS.items()}
)
WORKSPACE_DATASETS: Final[Mapping[str, pa.Schema]] = MappingProxyType(
    {name: _schema(columns) for name, columns in _OF_WORKSPACE.items()}
)
