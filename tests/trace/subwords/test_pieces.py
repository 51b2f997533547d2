"""Pieces of a text: nothing is lost, doubled or executed.

Covers `bertviz_core/text.py`.
"""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.questions.texts.tokens import rewritten
from bertviz_core.text import escape_controls, is_right_to_left, shortened
from bertviz_core.trace.pieces import text_pieces
from bertviz_core.trace.results import Piece, PieceRun, Tokens


def tokens(text: str, spans: list[tuple[int, int]], words: list[int], cut: int = 0) -> Tokens:
    """[CLS], one token for each span, [SEP]."""
    pieces = [text[begin:end] or "empty" for begin, end in spans]
    count = len(pieces) + 2
    return Tokens(
        text=text,
        pair=None,
        tokens=("[CLS]", *pieces, "[SEP]"),
        input_ids=np.arange(count) * 7 + 11,
        token_type_ids=np.zeros(count, dtype=np.int64),
        word_ids=(None, *words, None),
        offsets=(None, *spans, None),
        sequence=(None, *[0] * len(pieces), None),
        special=np.array([True, *[False] * len(pieces), True]),
        unknown=np.zeros(count, dtype=bool),
        other_inputs={},
        limit=None,
        limit_reason="",
        tokens_cut=(cut, 0),
        notices=(),
    )


def runs(found: Tokens) -> tuple[PieceRun, ...]:
    """The pieces of a text."""
    return text_pieces(found).runs


def joined(found: tuple[PieceRun, ...]) -> str:
    """The visible text, without added tokens."""
    shown = ""
    for run in found:
        shown += run.gap + "".join(piece.text for piece in run.pieces if not piece.special)
    return shown


def spelled(text: str, pieces: list[tuple[str, tuple[int, int], int]]) -> Tokens:
    """Tokens with given spellings, spans and words."""
    plain = tokens(text, [span for _, span, _ in pieces], [word for _, _, word in pieces])
    return replace(plain, tokens=("[CLS]", *(spelling for spelling, _, _ in pieces), "[SEP]"))


def test_pieces_and_gaps_are_the_text_again() -> None:
    text = "Sinan, a  day."
    spans = [(0, 3), (3, 5), (5, 6), (7, 8), (10, 13), (13, 14)]
    found = runs(tokens(text, spans, [0, 0, 1, 2, 3, 4]))
    assert joined(found) == text
    words = [run for run in found if run.pieces]
    assert [len(run.pieces) for run in words] == [1, 2, 1, 1, 1, 1, 1]
    tones = [run.tone for run in words if not run.pieces[0].special]
    assert all(one != other for one, other in zip(tones, tones[1:], strict=False))
    assert [piece.position for run in words for piece in run.pieces] == list(range(8))
    assert [run.sequence for run in words] == [None, *[0] * 5, None]


def test_a_piece_knows_its_token() -> None:
    (piece,) = runs(replace(tokens("ab", [(0, 2)], [0]), unknown=np.array([False, True, False])))[1].pieces
    assert piece == Piece(1, "ab", "", "ab", 18, False, True)


def test_tokens_that_share_characters_show_them_once() -> None:
    found = runs(tokens("\U0001f600!", [(0, 1), (0, 1), (1, 2)], [0, 0, 1]))
    assert joined(found) == "\U0001f600\U0001f600!"  # the second shows its own spelling


@pytest.mark.parametrize(
    "pieces",
    [
        # As in Metaspace of tokenizers: a space belongs to the piece after it, or the following text is counted twice.
        [("▁", (0, 1), 0), ("I", (0, 1), 0), ("▁lov", (1, 5), 1), ("e", (5, 6), 1)],
        [("▁I", (0, 1), 0), ("▁", (1, 2), 1), ("lov", (2, 5), 1), ("e", (5, 6), 1)],
        [("I", (0, 1), 0), ("Ġlov", (2, 5), 1), ("e", (5, 6), 1)],
        [("I", (0, 1), 0), ("Ġ", (1, 2), 1), ("lov", (2, 5), 1), ("e", (5, 6), 1)],
        [("I", (0, 1), 0), ("lov", (2, 5), 1), ("##e", (5, 6), 1)],
    ],
)
def test_a_mark_of_the_vocabulary_is_shown_as_such_and_never_as_a_letter(
    pieces: list[tuple[str, tuple[int, int], int]],
) -> None:
    found = runs(spelled("I love", pieces))
    assert joined(found) == "I love"
    shown = [(piece.mark, piece.text) for run in found for piece in run.pieces if not piece.special]
    assert [f"{mark}{text}" for mark, text in shown] == [spelling for spelling, _, _ in pieces]
    assert {mark for mark, _ in shown} <= {"", "▁", "Ġ", "##"}


def test_what_is_cut_off_is_shown_and_marked() -> None:
    text = "one two " + "three " * 200
    (rest,) = [run for run in runs(tokens(text, [(0, 3), (4, 7)], [0, 1], cut=200)) if run.cut]
    assert rest.gap.strip().startswith("three three")
    assert "more characters" in rest.gap
    assert len(rest.gap) < 500


def test_without_offsets_every_token_stands_as_it_is_spelled() -> None:
    slow = replace(tokens("ab", [(0, 1), (1, 2)], [0, 1]), offsets=None, word_ids=None)
    assert [piece.text for run in runs(slow) for piece in run.pieces] == ["[CLS]", "a", "b", "[SEP]"]


def test_a_text_from_right_to_left_and_a_pair_are_known() -> None:
    assert text_pieces(tokens("שלום", [(0, 4)], [0])).right_to_left
    plain = text_pieces(tokens("ab", [(0, 2)], [0]))
    assert (plain.right_to_left, plain.pair, len(plain)) == (False, False, 3)
    both = replace(tokens("ab", [(0, 2)], [0]), pair="c")
    assert text_pieces(both).pair


def test_what_acts_on_a_page_is_named() -> None:
    assert escape_controls("a\x1b\u202e\x00b\n") == "aU+001BU+202EU+0000bU+000A"
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert escape_controls(family) == family
    assert escape_controls("\u200d") == "U+200D"
    assert escape_controls("שלום <b> *x*") == "שלום <b> *x*"
    assert shortened("abcdef", 4) == "abcd… (2 more characters)"
    assert shortened("abcd", 4) == "abcd"
    assert [is_right_to_left(text) for text in ("שלום", "1. سلام", "abc שלום", "", "12")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "token", "words"),
    [
        ("I", "i", "makes capitals small: 'I' becomes the token 'i'."),
        ("Caf\u00e9", "cafe", "makes capitals small and drops accents: 'Caf\u00e9' becomes the token 'cafe'."),
        ("\u00e9", "e", "drops accents: '\u00e9' becomes the token 'e'."),
        ("\u00c9", "\u00e9", "makes capitals small: '\u00c9' becomes the token '\u00e9'."),
        ("I", "I", ""),
        ("\u00e9", "\u00c3\u00a9", ""),  # bytes of UTF-8 in a byte-level vocabulary
    ],
)
def test_what_the_tokenizer_rewrites_is_said_with_an_example(text: str, token: str, words: str) -> None:
    read = replace(tokens(text, [(0, len(text))], [0]), tokens=("[CLS]", token, "[SEP]"))
    assert rewritten(text_pieces(read)) == (f"Before it cuts, this tokenizer {words}" if words else "")
