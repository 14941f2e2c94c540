"""The models we call, behind ports."""
