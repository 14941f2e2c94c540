"""The time, in any time zone."""
