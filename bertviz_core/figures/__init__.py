"""Pure functions: a result -> a plotly figure."""
