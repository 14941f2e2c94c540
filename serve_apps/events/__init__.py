"""Events: those that go out to webhooks, and those by which others say that a document was uploaded."""
