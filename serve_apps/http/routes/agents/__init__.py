"""Routes of agents: chat, runs, sessions, approvals, skills, schedules."""
