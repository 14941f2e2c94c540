"""The skill framework: contract, manifest, catalogue, guard, credentials, redaction, packages."""
