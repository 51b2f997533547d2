"""Find a second text with as many tokens as the first, for activation patching."""

import re
from collections.abc import Callable, Iterator

from bertviz_core.trace.results import Tokens

WORD = re.compile(r"[^\W_]+")
KNOWN = (
    *("a", "it", "dog", "cat", "bank", "nine", "blue", "snake", "river", "house", "three", "friend", "garden"),
    *("coding", "evening", "teacher", "mountain", "computer", "language", "different", "university"),
)
"""Words of several lengths, for character tokenizers as well as for word tokenizers."""
MOST_TRIED = 200
"""Most texts that are tokenized."""


def same_length_text(tokens: Tokens, second: str, read: Callable[[str], Tokens]) -> str | None:
    """Replace one word of the text so that it keeps its number of tokens and some differ; None if nothing fits.

    The result is never the second text itself. The new word comes from the second text if one fits, otherwise from a
    list; the text's longest words are tried first. At last words are reversed.
    """
    ids, donor_ids = tokens.input_ids.tolist(), read(second).input_ids.tolist() if second else []
    for tried, candidate in enumerate(_changed(tokens.text, second)):
        if tried >= MOST_TRIED:
            break
        tried_ids = read(candidate).input_ids.tolist()
        if len(tried_ids) == len(ids) and tried_ids not in (ids, donor_ids):
            return candidate
    return None


def _changed(text: str, second: str) -> Iterator[str]:
    """Variants of the text with one word replaced, then with one word reversed."""
    words = sorted(WORD.finditer(text), key=lambda word: -len(word[0]))
    for others in (list(dict.fromkeys(WORD.findall(second))), KNOWN):
        for word in words:
            for other in sorted(others, key=lambda other: abs(len(other) - len(word[0]))):
                if other.lower() != word[0].lower():
                    cased = other.capitalize() if word[0][:1].isupper() else other
                    yield text[: word.start()] + cased + text[word.end() :]
    for word in words:
        turned = word[0][::-1]
        if turned != word[0]:
            yield text[: word.start()] + turned + text[word.end() :]
