"""Sources of files: upload, folder, archive."""
