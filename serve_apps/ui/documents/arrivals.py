"""Word of the first pages of a document that was opened before it had any, beside what is shown of it."""

from typing import Any, Final

import gradio as gr

from serve_apps.ui.documents.facts import document_address, done_notice
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, link_to
from serve_apps.ui.kit.html import Record, SafeHtml, join_html
from serve_apps.ui.kit.problem import ApiProblem

LOOK_SECONDS: Final = 3.0
UNREAD: Final = frozenset({"pending", "processing"})


def awaits_pages(document: Record) -> bool:
    """True of a document that is read or waits for it, and has no page yet: it may have been surveyed already."""
    return document["status"] in UNREAD and not document["pages"]["stored"]


def no_page_notice(document: Record) -> SafeHtml:
    """What stands in the place of its pages."""
    if awaits_pages(document):
        return empty_state("No page of it was read yet.", "Its job on the page Ingest tells how far it is.")
    return empty_state("No page of it could be read.", "Its job on the page Ingest tells why.")


async def arrivals(api: SessionApi, id_: str) -> list[Any]:
    """A notice once the document waits no more, and whether to look again; what is shown of it is left alone.

    Somebody may be typing into one of its forms.
    """
    try:
        document = await api.get(f"/api/documents/{id_}")
    except ApiProblem as problem:
        # While the gateway is replaced it may not answer for a moment; what it refuses it refuses again.
        return [gr.skip(), gr.Timer(active=not 400 <= problem.told.status < 500)]
    if awaits_pages(document):
        return [gr.skip(), gr.skip()]
    link = link_to("Show them", document_address(id_))
    what = join_html(f"{document['filename']} has pages now. ", link, ".") if document["pages"]["stored"] else None
    failed = join_html(f"{document['filename']} could not be read. ", link_to("Show why", document_address(id_)), ".")
    return [done_notice(what or failed), gr.Timer(active=False)]
