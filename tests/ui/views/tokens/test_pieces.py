"""The text in place: nothing of it is lost, doubled or acted on.

Covers `bertviz_core/text.py`.
"""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.text import escape_controls, is_right_to_left, shortened
from bertviz_core.trace.results import Tokens
from ui.views.tokens.pieces import runs


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


def joined(found: list[dict]) -> str:
    """What stands on the page, the tokens that were added left out."""
    shown = ""
    for run in found:
        chips = [chip for chip in run.get("word", ()) if "special" not in chip["marks"]]
        shown += run.get("gap", "") + "".join(chip["text"] for chip in chips)
    return shown.strip()


def test_pieces_and_gaps_are_the_text_again() -> None:
    text = "Sinan, a  day."
    spans = [(0, 3), (3, 5), (5, 6), (7, 8), (10, 13), (13, 14)]
    found = runs(tokens(text, spans, [0, 0, 1, 2, 3, 4]), "id")
    assert joined(found) == text
    words = [run for run in found if "word" in run]
    assert [len(run["word"]) for run in words] == [1, 2, 1, 1, 1, 1, 1]
    tones = [run["tone"] for run in words if "special" not in run["word"][0]["marks"]]
    assert all(one != other for one, other in zip(tones, tones[1:], strict=False))
    assert [chip["marks"] for run in words for chip in run["word"]][1:3] == ["", "piece"]
    assert [chip["at"] for run in words for chip in run["word"]] == list(range(8))


@pytest.mark.parametrize(("below", "expected"), [("id", "18"), ("token", "ab"), ("position", "1")])
def test_below_a_piece_stands_what_was_chosen(below: str, expected: str) -> None:
    chip = next(run for run in runs(tokens("ab", [(0, 2)], [0]), below) if run.get("tone") == 0)["word"][0]
    assert chip["below"] == expected
    assert chip["label"] == "position 1, ab, id 18"


def test_tokens_that_share_characters_show_them_once() -> None:
    found = runs(tokens("\U0001f600!", [(0, 1), (0, 1), (1, 2)], [0, 0, 1]), "id")
    assert joined(found) == "\U0001f600\U0001f600!"  # the second shows its own spelling


def test_what_is_cut_off_is_shown_and_marked() -> None:
    text = "one two " + "three " * 200
    (rest,) = [run for run in runs(tokens(text, [(0, 3), (4, 7)], [0, 1], cut=200), "id") if run.get("cut")]
    assert rest["gap"].strip().startswith("three three")
    assert "more characters" in rest["gap"]
    assert len(rest["gap"]) < 500


def test_without_offsets_every_token_stands_as_it_is_spelled() -> None:
    slow = replace(tokens("ab", [(0, 1), (1, 2)], [0, 1]), offsets=None, word_ids=None)
    assert joined(runs(slow, "id")).split() == ["a", "b"]


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
