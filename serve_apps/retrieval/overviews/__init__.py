"""Lists and summaries of whole documents."""
