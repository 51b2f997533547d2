"""Questions about a model without a text: parameters, architecture, cost, checkpoint files."""
