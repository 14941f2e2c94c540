"""What the command line shows and how it talks to the HTTP API; no Ray, no database."""
