"""Languages that somebody names for scans of a folder, an upload or a document, checked against what is installed."""

import asyncio
from collections.abc import Sequence

from cluster.basics.errors import Invalid
from configs.sections import OcrSettings
from pipelines.documents.ocr.languages.installed import installed_languages
from pipelines.documents.store.ocr_languages import MOST, refuse_absent
from pipelines.documents.store.reading_options import parse_languages


async def check_languages(ocr: OcrSettings, told: str | Sequence[str] | None) -> tuple[str, ...]:
    """Languages of scans that somebody names, where there is data for each. Raises Invalid, LanguageNotInstalled."""
    languages = parse_languages(told or ())
    if len(languages) > MOST:
        raise Invalid(f"at most {MOST} languages: each costs time on every page")
    if languages:
        refuse_absent(languages, await list_installed(ocr))
    return languages


async def list_installed(ocr: OcrSettings) -> list[str]:
    """Languages that there is data for on this machine."""
    return list(await asyncio.to_thread(installed_languages, own=ocr.tesseract_data))
