"""Export of documents: searchable PDFs, Markdown with pages, Parquet tables."""
