"""Streamed responses: SSE, WebSocket, and turns as responses."""
