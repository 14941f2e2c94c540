"""The console in a real browser, before the session's one running product."""
