"""Python that people or models wrote, run in the sandbox."""
