"""Routes of documents: ingest, search, versions, jobs, generations, graph."""
