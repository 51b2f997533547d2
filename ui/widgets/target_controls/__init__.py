"""The number that is looked at on the pages on causes."""
