"""A question to the person of the conversation; `serve_apps.agents.inquiry` carries it out."""
