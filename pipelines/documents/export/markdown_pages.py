"""A document as Markdown: where it comes from at its head, and before each page how it was read."""

import re
from collections.abc import AsyncIterator
from typing import Any, Final

import yaml

from cluster.basics.scope import Scope
from pipelines.documents.document import Page
from pipelines.documents.export.stored_content import StoredContent, StoredVersion

_MARKER: Final = re.compile(r"<!--(?=\s*page\b)", re.IGNORECASE)


async def markdown_pages(content: StoredContent, scope: Scope, version: StoredVersion) -> AsyncIterator[str]:
    """The document piece by piece: YAML front matter, then its pages in order.

    A page begins with a comment, `<!-- page 3 | engine: tesseract | confidence: 0.93 -->`; what it lacks or may have
    wrong is told in comments behind it.
    """
    yield front_matter(version)
    expected = 1
    async for pages in content.pages(scope, version):
        for page in pages:
            for number in range(expected, page.number):
                yield _missing_page(number)
            yield page_markdown(page)
            expected = page.number + 1
    for number in range(expected, version.page_count + 1):
        yield _missing_page(number)


def front_matter(version: StoredVersion) -> str:
    """What the file is of: document, version, name, hash and status, as YAML between lines of three dashes."""
    told: dict[str, Any] = {
        "document": version.document_id,
        "version": version.version_id,
        "filename": version.filename,
        "sha256": version.file_hash,
        "kind": version.kind,
        "status": version.status,
        "pages": version.page_count,
    }
    return f"---\n{yaml.safe_dump(told, allow_unicode=True, sort_keys=False)}---\n"


def page_markdown(page: Page) -> str:
    """A page under its marker; its text cannot pass for another page's marker."""
    facts = [f"page {page.number}", f"engine: {page.engine}"]
    if page.confidence is not None:
        facts.append(f"confidence: {page.confidence:.2f}")
    lines = [f"\n<!-- {_comment(' | '.join(facts))} -->"]
    if page.failure is not None:
        told = ": ".join(filter(None, (page.failure.reason, page.failure.detail)))
        lines.append(f"<!-- not read: {_comment(told)} -->")
    lines += [f"<!-- {caveat.kind}: {_comment(caveat.detail)} -->" for caveat in page.caveats]
    text = _MARKER.sub("&lt;!--", page.text).strip("\n")
    return "\n".join([*lines, "", text, ""]) if text else "\n".join([*lines, ""])


def _missing_page(number: int) -> str:
    return f"\n<!-- page {number} -->\n<!-- not read: nothing is stored of this page -->\n"


def _comment(text: str) -> str:
    """The text as a comment may hold it: on one line, without what would end it."""
    return " ".join(text.split()).replace("--", "- -").replace(">", "&gt;")
