"""WebDAV: requests, answers to PROPFIND, and what is kept of a listing for the next."""
