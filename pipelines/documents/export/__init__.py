"""What was read goes out again: searchable PDFs, Markdown with pages, Parquet tables."""
