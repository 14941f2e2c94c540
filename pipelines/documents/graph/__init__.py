"""The knowledge graph: what documents speak of, how it hangs together, and where each of it stands."""
