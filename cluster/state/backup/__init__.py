"""Backups of a whole instance, database, log, bytes of documents and files of secrets; and restores."""
