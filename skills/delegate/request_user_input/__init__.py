"""A question to the person of the conversation; `serve_apps.agents.inquiries.inquiry` carries it out."""
