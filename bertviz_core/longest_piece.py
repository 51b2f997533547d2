"""The token that a page looks at to begin with."""

from bertviz_core.results.trace import Tokens


def longest_piece(tokens: Tokens) -> int:
    """Position of the longest piece of the text's own: it says most about its neighbours; 0 where there is none."""
    own = [position for position in range(len(tokens)) if not (tokens.special[position] or tokens.unknown[position])]
    return max(own, key=lambda position: len(tokens.tokens[position]), default=0)
