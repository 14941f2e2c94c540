"""The product as an MCP server."""
