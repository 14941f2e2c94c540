"""The page Agents: who there is, and for one of them everything that can be set."""
