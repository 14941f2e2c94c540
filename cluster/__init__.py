"""The ground everything stands on: state, models, and the Ray cluster itself."""
