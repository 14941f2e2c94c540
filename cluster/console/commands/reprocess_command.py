"""`aos documents process`: a document's text cut and embedded again, or its file read again in another encoding."""

from typing import Annotated

import typer

from cluster.console.commands.document_commands import AsJson, CommandSession, DocumentId, follow_job


def process_document(
    context: typer.Context,
    document_id: DocumentId,
    encoding: Annotated[
        str | None, typer.Option(help="Read its file again and decode it so, such as cp1250; auto: as its bytes say.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until the job ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Cut and embed a document's text again, or read its file again in an encoding that you know.

    Example: aos documents process ID --encoding cp1250 --wait
    """
    session: CommandSession = context.obj
    body = {"encoding": encoding} if encoding else {}
    started = session.api.request("POST", f"/api/documents/{document_id}/process", json=body)
    if wait:
        follow_job(session, started["job_id"], as_json)
    shown = f"Job {started['job_id']} {started['status']}. Follow it: aos jobs watch {started['job_id']}"
    session.print(started, as_json, shown)
