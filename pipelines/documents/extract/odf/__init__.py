"""OpenDocument: ODT, ODS and ODP as Markdown."""
