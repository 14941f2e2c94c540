"""From passages to rows that can be searched."""
