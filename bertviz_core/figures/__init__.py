"""Pure functions from a result to a plotly figure."""
