"""The command line's output and its client for the HTTP API; no Ray, no database."""
