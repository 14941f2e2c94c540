"""Durable work: jobs, runs and schedules under lease, heartbeat and fencing token."""
