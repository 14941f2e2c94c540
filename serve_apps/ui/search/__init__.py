"""The search lab: a question beside what every stage of the search made of it, its answer, and golden questions."""
