"""From a question to ranked, cited passages."""
