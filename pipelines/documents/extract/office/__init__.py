"""Office packages: PPTX slides, charts, diagrams and embedded objects."""
