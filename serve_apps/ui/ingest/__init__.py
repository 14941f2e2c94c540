"""The page Ingest: upload files, scan folders after a dry run, and follow jobs to their last page."""
