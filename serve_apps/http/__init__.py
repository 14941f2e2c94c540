"""The HTTP API: what a client may ask and who may ask it."""
