"""The page Journey."""
