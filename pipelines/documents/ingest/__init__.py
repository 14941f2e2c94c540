"""Ingestion: the job loop, its plan of units, surveys, slices, batches, and a job's end."""
