"""Analytics of documents as a person reads them: totals, states, kinds, use in answers."""

from collections.abc import Mapping

from cluster.console.api import JSON


def document_analytics_view(found: JSON) -> list[str]:
    """A line for each sort of figures of `GET /api/documents/analytics`; sources and workspaces are tables."""
    use, rate = found["usage"], found["success_rate"]
    read = "nothing was read yet" if rate is None else f"{rate:.1%} of those that were read are complete"
    lines = [
        f"{found['documents']:,} documents, {found['pages']:,} pages, {found['chunks']:,} passages, "
        f"{found['storage_bytes']:,} bytes; {found['uploads_24h']:,} came in the last 24 hours; {read}",
        *_counts_line("By state", found["by_status"]),
        *_counts_line("By kind", found["by_type"]),
        *_counts_line("By origin", found["by_origin"]),
        f"Answers used {use['used_documents']:,} of them, {use['never_used']:,} were never used",
    ]
    lines += [
        f"  {one['filename']}: before {one['rag_query_count']:,} answers, cited in {one['cited_count']:,} ({one['id']})"
        for one in use["most_used"]
    ]
    return lines


def _counts_line(title: str, counts: Mapping[str, int]) -> list[str]:
    return [f"{title}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())] if counts else []
