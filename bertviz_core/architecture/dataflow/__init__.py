"""What a model is, derived once from a run of its modules: every page, figure and document tells it from here."""
