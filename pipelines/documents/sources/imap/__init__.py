"""Mailboxes read over IMAP: connections, how folders are listed, and messages as items."""
