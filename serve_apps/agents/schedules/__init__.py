"""Scheduled messages and examinations, carried out by cron expression."""
