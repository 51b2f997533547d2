"""The steps of an edit restore both texts; unchanged tokens are the same tokens in the same order."""

import pytest

from bertviz_core.trace.two_tokenizers import WORD, unchanged_positions, word_edits
from tests.helpers.made_traces import spelled

TEXTS = (
    "I love my pet python.",
    "I love my  pet snake.",
    "I hate my pet, the big python!",
    "",
    "   ",
    "日本語 のテキスト",
    "python python python",
    "a\ud800b",
)


@pytest.mark.parametrize("before", TEXTS)
@pytest.mark.parametrize("after", TEXTS)
def test_the_steps_make_up_both_texts(before: str, after: str) -> None:
    edits = word_edits(before, after)
    for text, spans in ((before, [each.before for each in edits]), (after, [each.after for each in edits])):
        fixed = text.replace("\ud800", "\ufffd")
        assert [word for span in spans for word in WORD.findall(fixed[slice(*span)])] == WORD.findall(fixed)
        assert spans == sorted(spans)
    for each in edits:
        kept, put = (text.replace("\ud800", "\ufffd") for text in (before, after))
        same = WORD.findall(kept[slice(*each.before)]) == WORD.findall(put[slice(*each.after)])
        assert same == (each.kind == "same")
        assert (each.before[0] == each.before[1]) == (each.kind == "inserted")
        assert (each.after[0] == each.after[1]) == (each.kind == "deleted")


def test_one_replaced_word_is_one_step() -> None:
    edits = word_edits("I love my pet python.", "I love my pet snake.")
    assert [(each.kind, each.before, each.after) for each in edits] == [
        ("same", (0, 13), (0, 13)),
        ("replaced", (14, 20), (14, 19)),
        ("same", (20, 21), (19, 20)),
    ]
    assert [each.kind for each in word_edits("a  b", "a b")] == ["same"]


def test_tokens_that_stayed_are_found_and_a_pair_is_never_mixed_up() -> None:
    before = spelled("[CLS] my pet python [SEP] my pet [SEP]", sequence=".AAA.BB.")
    after = spelled("[CLS] my dear pet [SEP] pet [SEP]", sequence=".AAA.B.")
    kept = unchanged_positions(before, after)
    assert kept == {0: 0, 1: 1, 2: 3, 4: 4, 6: 5, 7: 6}


def test_a_long_text_of_one_word_takes_no_long_search() -> None:
    """A comparison of all pairs of words would take 400 million steps."""
    edits = word_edits("the " * 20_000 + "end", "a " + "the " * 20_000)
    assert edits[0].before[0] == 0
    assert edits[-1].after[1] == len("a " + "the " * 20_000) - 1


def test_beyond_a_number_of_words_what_lies_between_is_one_replacement() -> None:
    first, second = (" ".join(f"w{at * step % 9_973}" for at in range(10_050)) for step in (3, 7))
    edits = word_edits(f"same start {first} same end", f"same start {second} same end")
    assert [each.kind for each in edits] == ["same", "replaced", "same"]
    assert [each.kind for each in word_edits("a b", f"a {first} b")] == ["same", "inserted", "same"]
