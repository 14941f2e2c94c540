"""SCIM 2.0 (RFC 7643, RFC 7644): an organisation's identity provider keeps people and groups of its tenant here."""
