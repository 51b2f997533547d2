"""Because of what: heads, blocks and states changed on purpose, and what that does to one number of the model."""
