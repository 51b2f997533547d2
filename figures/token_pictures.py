"""Pictures of single tokens as pages and the command line name them: nearest rows, and one word in two texts."""

from collections.abc import Sequence

from bertviz_core.results.hidden_states import NearestRows, WordComparison
from bertviz_core.visible import shortened, visible
from figures.picture import Picture
from figures.token_lines import word_curve
from figures.tokens import neighbour_bars
from figures.tokens_axis import visible as label

LONGEST = 24


def nearest_picture(found: NearestRows, spelled: Sequence[str], token: str, model: str) -> Picture:
    """The rows of the embedding table that are nearest to a token's."""
    title = f'Nearest rows to "{shortened(visible(token), LONGEST)}" - {model}'
    names = [label(each) for each in spelled]
    alt = f"{title}: cosines of the nearest rows of the embedding table"
    return Picture(title, alt, lambda look: neighbour_bars(names, found.cosine, found.norms, title, look))


def word_picture(comparison: WordComparison, word: str, model: str) -> Picture:
    """One word in two texts, layer by layer."""
    title = f'"{word}" in two texts - {model}'
    alt = f"{title}: cosine of the two occurrences at every layer"
    return Picture(title, alt, lambda look: word_curve(comparison, title, look))
