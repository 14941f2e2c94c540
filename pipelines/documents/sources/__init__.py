"""Where files come from: upload, folder, archive."""
