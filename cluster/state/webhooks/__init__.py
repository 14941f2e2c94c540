"""Webhooks: where a workspace's events go out to, what is still to be sent, and how it is signed."""
