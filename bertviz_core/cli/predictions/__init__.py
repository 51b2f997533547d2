"""The commands that ask a model: what it answers, and because of what."""
