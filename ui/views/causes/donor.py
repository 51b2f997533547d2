"""Find a second text with as many tokens as the first, for activation patching."""

import re
from collections.abc import Callable, Iterator

from bertviz_core.trace.results import Tokens

WORD = re.compile(r"[^\W_]+")
KNOWN = (
    *("a", "it", "dog", "cat", "bank", "nine", "blue", "snake", "river", "house", "three", "friend", "garden"),
    *("coding", "evening", "teacher", "mountain", "computer", "language", "different", "university"),
)
"""Words of several lengths, for tokenizers of characters as well as of words."""
MOST_TRIED = 200
"""Most texts that are tokenized."""


def same_length_text(tokens: Tokens, second: str, read: Callable[[str], Tokens]) -> str | None:
    """The text with one word changed so that it has as many tokens and some other; None where none was found.

    It is never the second text itself.

    The word is taken from the second text where one fits, else from a list; the text's longest words go first.

    Args:
        tokens: the text.
        second: the text that the reader wanted beside it; "" for none.
        read: tokenizes a text as the model does.
    """
    ids, taken = tokens.input_ids.tolist(), read(second).input_ids.tolist() if second else []
    for tried, candidate in enumerate(_changed(tokens.text, second)):
        if tried >= MOST_TRIED:
            break
        found = read(candidate).input_ids.tolist()
        if len(found) == len(ids) and found not in (ids, taken):
            return candidate
    return None


def _changed(text: str, second: str) -> Iterator[str]:
    """Variants of the text with one word replaced, then with two letters of a word exchanged."""
    words = sorted(WORD.finditer(text), key=lambda found: -len(found[0]))
    for others in (list(dict.fromkeys(WORD.findall(second))), KNOWN):
        for found in words:
            for other in sorted(others, key=lambda other: abs(len(other) - len(found[0]))):
                if other.lower() != found[0].lower():
                    yield text[: found.start()] + _cased(other, found[0]) + text[found.end() :]
    for found in words:
        turned = found[0][::-1]
        if turned != found[0]:
            yield text[: found.start()] + turned + text[found.end() :]


def _cased(word: str, like: str) -> str:
    """The word, capitalized like another one."""
    return word.capitalize() if like[:1].isupper() else word
