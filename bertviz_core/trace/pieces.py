"""Pieces of a text by its tokens, and reference tokenizers that are made here."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from bertviz_core.isolation.regular_files import VOCABULARY_NBYTES, read_file
from bertviz_core.lazy_imports import transformers
from bertviz_core.models.catalog import verify_bundled
from bertviz_core.models.local_files import tokenizer_folder
from bertviz_core.models.sources import TOKENIZER_NAMES, resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import escape_controls, is_right_to_left, shortened
from bertviz_core.trace.results import Piece, PieceRun, TextPieces, Tokens
from bertviz_core.trace.tokenization import TextTokenizer, TokenLimit
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


SMALL, BYTES = "Small WordPiece", "UTF-8 bytes"
SMALL_VOCABULARY = 4_000
"""Number of entries of BERT's vocabulary in the small one: special tokens, characters, and the most frequent words,
since BERT's vocabulary is ordered by frequency."""
BYTE_SPECIALS = ("<pad>", "</s>", "<unk>")


def reference_tokenizer(name: str, settings: Settings) -> TextTokenizer:
    """One of REFERENCE_TOKENIZERS."""
    limit = TokenLimit(
        settings.max_tokens, f"this instance reads at most {settings.max_tokens:,} (INSIDE_BERT_MAX_TOKENS)"
    )
    backend, ends = REFERENCE_TOKENIZERS[name][0](settings)

    return TextTokenizer(
        name, transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **ends), limit, settings.max_characters
    )


def _small(settings: Settings) -> tuple[Tokenizer, dict[str, Any]]:
    """WordPiece with the first entries of the bundled vocabulary and all its single characters; otherwise as BERT."""
    source = resolve(DEFAULT_MODEL, settings)
    verify_bundled(source.name, TOKENIZER_NAMES)
    whole = json.loads(read_file(tokenizer_folder(source, settings), "tokenizer.json", VOCABULARY_NBYTES))
    ordered = sorted(whole["model"]["vocab"], key=whole["model"]["vocab"].__getitem__)
    pieces = [
        piece for place, piece in enumerate(ordered) if place < SMALL_VOCABULARY or len(piece.removeprefix("##")) == 1
    ]
    whole["model"]["vocab"] = {piece: place for place, piece in enumerate(pieces)}
    whole["truncation"] = whole["padding"] = None
    ends = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return Tokenizer.from_str(json.dumps(whole)), {**ends, "mask_token": "[MASK]", "model_input_names": inputs}


def _bytes(settings: Settings) -> tuple[Tokenizer, dict[str, Any]]:
    """Every UTF-8 byte is a token, with the ids of ByT5 (Xue et al. 2022): byte + 3, then </s>."""
    alphabet = {piece: byte + len(BYTE_SPECIALS) for byte, piece in enumerate(byte_characters())}
    vocabulary = {**{piece: place for place, piece in enumerate(BYTE_SPECIALS)}, **alphabet}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.add_special_tokens([AddedToken(piece, special=True) for piece in BYTE_SPECIALS])
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    return backend, {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def byte_characters() -> list[str]:
    """The character for each byte, 0 to 255, in byte-level vocabularies (Radford et al. 2019).

    Bytes that are printable in Latin-1 are represented by themselves, the others by characters from U+0100 on.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte if byte in printable else 0x100 + others.index(byte)) for byte in range(256)]


REFERENCE_TOKENIZERS: Mapping[str, tuple[Callable[[Settings], tuple[Tokenizer, dict[str, Any]]], str]] = {
    SMALL: (
        _small,
        f"WordPiece with the first {SMALL_VOCABULARY:,} entries of BERT's vocabulary and all its single characters, "
        "made here: frequent words stay whole, rare ones fall into more pieces.",
    ),
    BYTES: (
        _bytes,
        "Every byte of the text is a token, as in ByT5 (Xue et al. 2022), made here: 256 bytes and three special "
        "tokens, nothing is unknown, and texts grow long.",
    ),
}
"""Name -> function that builds the tokenizer, and a description."""
