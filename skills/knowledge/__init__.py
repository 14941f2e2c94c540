"""What the documents say: search as a tool."""
