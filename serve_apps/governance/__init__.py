"""An organisation's rules for what it keeps: policies, legal holds, retention, erasure with a receipt."""
