"""The page Chat Studio: talk with an agent, see what it does, decide what it may do, open its sources."""

from serve_apps.ui.chat.page import PAGE

__all__ = ["PAGE"]
