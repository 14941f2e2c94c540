"""The page Chat Studio: talk with an agent, see what it does, decide what it may do, open its sources."""
