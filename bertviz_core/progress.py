"""How far a long computation is, told to whoever waits for it."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called as progress(done, total), in the units of the work; what it raises ends the work."""
