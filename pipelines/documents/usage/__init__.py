"""Use of documents: counted when answers rest on them, and figures of all documents together."""
