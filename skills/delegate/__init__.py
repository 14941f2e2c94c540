"""A task for another agent."""
