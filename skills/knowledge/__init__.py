"""Search in the documents as a tool."""
