"""From tokens to the pieces of the text in place: words of chips, and between them what no token covers."""

from collections.abc import Iterator
from typing import Any

from bertviz_core.text import escape_controls, is_right_to_left, shortened
from bertviz_core.trace.results import Tokens

LONGEST_PIECE, LONGEST_GAP, LONGEST_CUT = 60, 40, 400


def runs(tokens: Tokens, below: str) -> list[dict[str, Any]]:
    """What stands in a row: {"gap": characters that no token covers}, or {"word": chips, "tone": 0 or 1}.

    Joined, the pieces and gaps of a text are the text again, apart from what is shortened or named.

    Args:
        tokens: the tokens of a text or pair.
        below: what stands below each piece: "id", "token" or "position".
    """
    return list(_TokenWalk(tokens, below).runs())


class _TokenWalk:
    """One pass over the tokens, which remembers how far each text has been read."""

    def __init__(self, tokens: Tokens, below: str) -> None:
        self.tokens, self.below = tokens, below
        self.texts = (tokens.text, tokens.pair or "")
        self.read = [0, 0]
        self.place: int | None = None
        self.word: tuple[int | None, int | None] | None = None
        self.chips: dict[str, Any] = {}
        self.tone = 1
        self.added = False

    def runs(self) -> Iterator[dict[str, Any]]:
        """The runs in reading order."""
        for position, place in enumerate(self.tokens.sequence):
            if place != self.place:
                yield from self._rest()
                self.place = place
            span = self._span(position)
            if span is not None and place is not None:
                yield from self._gap(place, span[0])
            yield from self._chip(position, place, span)
        yield from self._rest()
        for place in (0, 1):
            self.place = place
            yield from self._rest()

    def _span(self, position: int) -> tuple[int, int] | None:
        return self.tokens.offsets[position] if self.tokens.offsets else None

    def _chip(self, position: int, place: int | None, span: tuple[int, int] | None) -> Iterator[dict[str, Any]]:
        index = self.tokens.word_ids[position] if self.tokens.word_ids else None
        word = (place, index) if index is not None else None
        follows = word is not None and word == self.word
        text = self._text(position, place, span)
        chip = {
            "at": position,
            "text": shortened(escape_controls(text), LONGEST_PIECE) or "∅",
            "below": self._note(position),
            "marks": self._marks(position, follows),
            "label": self._label(position),
        }
        if follows:
            self.chips["word"].append(chip)
            return
        apart = place is None or span is None
        if apart or self.added:
            yield {"gap": " "}
        self.word, self.added = word, apart
        self.tone = 1 - self.tone if not self.tokens.special[position] else self.tone
        self.chips = {"word": [chip], "tone": self.tone, "dir": "rtl" if is_right_to_left(text) else "ltr"}
        yield self.chips

    def _text(self, position: int, place: int | None, span: tuple[int, int] | None) -> str:
        """The characters that a token covers; its spelling where they are none or already shown."""
        spelling = self.tokens.tokens[position]
        if place is None or span is None:
            return spelling
        begin = max(span[0], self.read[place])
        self.read[place] = max(span[1], self.read[place])
        return self.texts[place][begin : span[1]] or spelling

    def _gap(self, place: int, begin: int) -> Iterator[dict[str, Any]]:
        skipped = self.texts[place][self.read[place] : begin]
        if skipped:
            self.word, self.added = None, False
            self.read[place] = begin
            yield {"gap": shortened(_spaced(skipped), LONGEST_GAP)}

    def _rest(self) -> Iterator[dict[str, Any]]:
        """What the text has behind its last token: cut off, or characters that are no token."""
        if self.place is None or (self.tokens.offsets is None and self.place is not None):
            return
        rest = self.texts[self.place][self.read[self.place] :]
        self.read[self.place] = len(self.texts[self.place])
        if rest.strip():
            yield {"gap": shortened(_spaced(rest), LONGEST_CUT), "cut": bool(self.tokens.tokens_cut[self.place])}

    def _note(self, position: int) -> str:
        if self.below == "token":
            return shortened(escape_controls(self.tokens.tokens[position]), LONGEST_PIECE)
        return str(position if self.below == "position" else int(self.tokens.input_ids[position]))

    def _marks(self, position: int, follows: bool) -> str:
        named = {
            "special": self.tokens.special[position],
            "unknown": self.tokens.unknown[position],
            "piece": follows,
            "hashed": self.tokens.tokens[position].startswith("##") and self.tokens.offsets is not None,
        }
        return " ".join(name for name, holds in named.items() if holds)

    def _label(self, position: int) -> str:
        kind = ", special token" if self.tokens.special[position] else ""
        kind = ", not in the vocabulary" if self.tokens.unknown[position] else kind
        spelling = escape_controls(shortened(self.tokens.tokens[position], LONGEST_PIECE))
        return f"position {position}, {spelling}, id {int(self.tokens.input_ids[position])}{kind}"


def _spaced(text: str) -> str:
    """Line breaks and tabs as spaces, other invisible characters by their codes."""
    return escape_controls(text.replace("\r\n", " ").replace("\n", " ").replace("\t", " "))
