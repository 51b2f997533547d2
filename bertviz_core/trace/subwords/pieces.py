"""Map tokens to the pieces of a text, grouped by word, and the characters that no token covers."""

from collections.abc import Iterator

from bertviz_core.text import escape_controls, is_right_to_left, shortened
from bertviz_core.trace.results import Piece, PieceRun, TextPieces, Tokens
from bertviz_core.trace.word_alignment import SPACE_MARKS

LONGEST_PIECE, LONGEST_GAP, LONGEST_CUT = 60, 40, 400
CONTINUES = "##"


def text_pieces(tokens: Tokens) -> TextPieces:
    """Split a text into pieces and gaps, which together cover it, apart from abbreviations and escapes."""
    return TextPieces(tuple(_TokenWalk(tokens).runs()), is_right_to_left(tokens.text), tokens.pair is not None)


class _TokenWalk:
    """A pass over the tokens that tracks how far each text has been read."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.texts = (tokens.text, tokens.pair or "")
        self.read = [0, 0]
        self.place: int | None = None
        self.word: tuple[int | None, int] | None = None
        self.pieces: list[Piece] = []
        self.tone = 1

    def runs(self) -> Iterator[PieceRun]:
        """The runs in the order of the tokens."""
        for position, place in enumerate(self.tokens.sequence):
            if place != self.place:
                yield from self._word()
                yield from self._rest()
                self.place = place
            span = self.tokens.offsets[position] if self.tokens.offsets else None
            if span is not None and place is not None:
                yield from self._gap(place, self._begin(position, place, span))
            index = self.tokens.word_ids[position] if self.tokens.word_ids else None
            word = (place, index) if index is not None else None
            if word is None or word != self.word:
                yield from self._word()
            self.word = word
            self.pieces.append(self._piece(position, place, span))
        yield from self._word()
        yield from self._rest()
        for place in (0, 1):
            self.place = place
            yield from self._rest()

    def _word(self) -> Iterator[PieceRun]:
        """Emit the current word."""
        if self.pieces:
            special = self.pieces[0].special
            self.tone = self.tone if special else 1 - self.tone
            yield PieceRun(tuple(self.pieces), self.tone, self.place)
        self.pieces, self.word = [], None

    def _begin(self, position: int, place: int, span: tuple[int, int]) -> int:
        """Start of the characters of a token, without leading space."""
        begin = max(span[0], self.read[place])
        covered = self.texts[place][begin : span[1]]
        return begin + len(covered) - len(covered.lstrip())

    def _piece(self, position: int, place: int | None, span: tuple[int, int] | None) -> Piece:
        spelling = self.tokens.tokens[position]
        mark, text = self._marked(spelling), spelling
        if place is not None and span is not None:
            if mark == spelling:
                text = ""  # a space mark: the reported characters belong to the next token
            else:
                begin = max(span[0], self.read[place])
                self.read[place] = max(span[1], self.read[place])
                text = self.texts[place][begin : span[1]] or spelling.removeprefix(mark)
        return Piece(
            position,
            shortened(escape_controls(text), LONGEST_PIECE) or ("" if mark else "∅"),
            mark,
            spelling,
            int(self.tokens.input_ids[position]),
            bool(self.tokens.special[position]),
            bool(self.tokens.unknown[position]),
        )

    def _marked(self, spelling: str) -> str:
        """The mark at the start of a spelling; "" if there are no offsets."""
        if self.tokens.offsets is None:
            return ""
        if spelling.startswith(CONTINUES) and spelling != CONTINUES:
            return CONTINUES
        return spelling[: len(spelling) - len(spelling.lstrip(SPACE_MARKS))]

    def _gap(self, place: int, begin: int) -> Iterator[PieceRun]:
        skipped = self.texts[place][self.read[place] : begin]
        if skipped:
            yield from self._word()
            self.read[place] = begin
            yield PieceRun(sequence=place, gap=shortened(_spaced(skipped), LONGEST_GAP))

    def _rest(self) -> Iterator[PieceRun]:
        """Emit the characters after the last token of a text: truncated, or not covered by a token."""
        if self.place is None or self.tokens.offsets is None:
            return
        rest = self.texts[self.place][self.read[self.place] :]
        self.read[self.place] = len(self.texts[self.place])
        if rest.strip():
            cut = bool(self.tokens.tokens_cut[self.place])
            yield PieceRun(sequence=self.place, gap=shortened(_spaced(rest), LONGEST_CUT), cut=cut)


def _spaced(text: str) -> str:
    """Replace line breaks and tabs by spaces, and escape other invisible characters."""
    return escape_controls(text.replace("\r\n", " ").replace("\n", " ").replace("\t", " "))
