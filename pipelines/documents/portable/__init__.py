"""Workspaces that move: out into an open folder, and from it into another workspace, tenant or machine."""
