"""Words, texts and punctuation of tokens; and figures pooled from maps."""

from typing import Any

import numpy as np
import pytest

from bertviz_core.attention.atlas import max_pool, pool_starts
from bertviz_core.attention.maps import BLOCKS, blocks_of, is_punctuation, readable, surface, text_sides, token_groups
from bertviz_core.attention.results import Axis
from bertviz_core.trace.results import Tokens
from tests.helpers.families_table import family_run
from tests.helpers.made_traces import spelled, tokens_of


def labels(tokens: Tokens) -> list[str]:
    return list(token_groups(tokens, words=True).labels)


def test_without_merging_every_token_is_an_entry_of_its_own() -> None:
    tokens = family_run("bert").texts[0]
    axis = token_groups(tokens, words=False)
    assert axis.labels == tokens.tokens
    assert axis.positions == tuple((position,) for position in range(len(tokens)))
    assert len(axis) == len(tokens)


def test_words_are_what_the_text_has() -> None:
    """ "I love my pet python." becomes [CLS] i love my pet python . [SEP] with the tiny vocabulary."""
    single, pair = family_run("bert").texts
    assert labels(single) == ["[CLS]", "I", "love", "my", "pet", "python", ".", "[SEP]"]
    assert labels(pair) == [*labels(single), "The", "pythons", ",", "my", "love", "[SEP]"]
    assert "##s" in pair.tokens
    assert len(token_groups(pair, words=True)) == len(pair) - 1


@pytest.mark.parametrize(
    ("pieces", "text", "offsets", "expected"),
    [
        ("\u0120caf\u00c3\u00a9 s", " caf\u00e9s", ((0, 5), (5, 6)), ["caf\u00e9", "s"]),
        ("\u0120caf\u00c3\u00a9", "", None, ["caf\u00e9"]),
        ("\u00f0\u0141\u013a \u0122", "\U0001f600", ((0, 1), (0, 1)), ["\U0001f600", "\U0001f600"]),
        ("\u0120 \u010a", "", None, ["\u2423", "\u21b5"]),
        ("\u2581caf\u00e9 \u2581", " caf\u00e9 ", ((0, 5), (5, 6)), ["caf\u00e9", "\u2423"]),
        ("caf\u00e9 ##\u00e9", "Caf\u00e9\u00e9", ((0, 4), (4, 5)), ["caf\u00e9", "##\u00e9"]),
        ("\u0109u \u0142", "\u0108u \u0142", ((0, 2), (3, 4)), ["\u0109u", "\u0142"]),
        ("[CLS] \u5b57", "\u5b57", (None, (0, 1)), ["[CLS]", "\u5b57"]),
    ],
    ids=[
        "byte-level",
        "no places",
        "parts of a character",
        "spaces",
        "SentencePiece",
        "WordPiece",
        "own letters",
        "han",
    ],
)
def test_a_token_reads_as_its_characters(pieces: str, text: str, offsets: Any, expected: list[str]) -> None:
    """The characters of byte-level vocabularies are those of GPT-2's bytes_to_unicode."""
    tokens = spelled(pieces, text, offsets=offsets)
    assert [readable(tokens, position) for position in range(len(tokens))] == expected


def test_the_second_text_begins_behind_the_first() -> None:
    tokens = spelled("[CLS] py ##th [SEP] my pet [SEP]", sequence=".AA.BB.", word_ids=(None, 0, 0, None, 0, 1, None))
    assert tokens.second_start == 4
    assert token_groups(tokens, words=False).second_entry(4) == 4
    assert token_groups(tokens, words=True).second_entry(4) == 3
    assert spelled("[CLS] a [SEP]", sequence=".A.").second_start is None
    assert Axis(("my", "pet"), ((4,), (5,))).second_entry(4) is None, "no entry of the first text stands before it"
    assert token_groups(tokens, words=False).second_entry(None) is None


def test_every_token_is_in_one_entry() -> None:
    tokens = family_run("roberta").texts[1]
    axis = token_groups(tokens, words=True)
    assert [position for positions in axis.positions for position in positions] == list(range(len(tokens)))


def test_words_of_two_texts_are_two_words() -> None:
    """Both texts number their words from 0."""
    tokens = spelled("a b", "a", pair="b", sequence="AB", word_ids=(0, 0), offsets=((0, 1), (0, 1)))
    assert labels(tokens) == ["a", "b"]


def test_a_special_token_in_the_text_stays_alone() -> None:
    tokens = spelled("x [SEP] y", "x[SEP]y", word_ids=(0, 0, 0), offsets=((0, 1), (1, 6), (6, 7)))
    assert labels(tokens) == ["x", "[SEP]", "y"]


@pytest.mark.parametrize("offsets", [((0, 3), (4, 6), (6, 9)), ((0, 3), (3, 6), (6, 9))])
def test_white_space_ends_a_word(offsets: Any) -> None:
    """Some tokenizers number a whole text as word 0, with or without the blank in the token's span."""
    tokens = spelled("one \u2581tw oos", "one twoos", word_ids=(0, 0, 0), offsets=offsets)
    assert labels(tokens) == ["one", "twoos"]


def test_a_tokenizer_that_does_not_tell_words_has_no_words() -> None:
    assert labels(tokens_of(3)) == ["t0", "t1", "t2"]


def test_pieces_without_a_place_in_the_text_are_put_together() -> None:
    assert labels(spelled("py ##thon", word_ids=(0, 0))) == ["py##thon"]


@pytest.mark.parametrize(
    ("pieces", "sequence", "sides"),
    [
        ("[CLS] a [SEP] b b [SEP]", ".A.BB.", "AAABBB"),
        ("<s> a </s> </s> b </s>", ".A..B.", "AAAABB"),
        ("a <sep> b <sep> <cls>", "A.B..", "AABBB"),
        ("[CLS] [SEP] b [SEP]", "..B.", "AABB"),
        ("[CLS] a [SEP] [SEP]", ".A..", "AAAA"),
        ("[CLS] a [SEP]", ".A.", "AAA"),
    ],
    ids=["bert", "roberta", "xlnet", "empty first", "empty second", "single"],
)
def test_an_added_token_counts_to_the_text_that_it_closes(pieces: str, sequence: str, sides: str) -> None:
    tokens = spelled(pieces, sequence=sequence)
    assert text_sides(tokens).tolist() == ["AB".index(side) for side in sides]
    assert blocks_of(tokens) == (BLOCKS if "B" in sides else ("all",))


def test_sides_are_the_token_types_where_the_tokenizer_tells_them() -> None:
    tokens = family_run("bert").texts[1]
    assert tokens.token_type_ids is not None
    np.testing.assert_array_equal(text_sides(tokens), tokens.token_type_ids)


@pytest.mark.parametrize("piece", [".", "...", "##,", "\u2581!", "\u0120(", "$", "\u2019", "\u3002", "\U0001f600", "#"])
def test_punctuation_and_symbols(piece: str) -> None:
    assert is_punctuation(spelled(piece), [0])


@pytest.mark.parametrize("piece", ["a", "##s", "don't", "3.5", "\u2581", "\u0120x", "[SEP]", "C++"])
def test_what_is_no_punctuation(piece: str) -> None:
    assert not is_punctuation(spelled(piece), [0])


def test_punctuation_is_told_by_the_text_where_it_is_known() -> None:
    """A piece that is missing in the vocabulary is spelled [UNK]; a byte of a character is spelled as another one."""
    tokens = spelled("[UNK] \u00e2\u0122\u013b", "\u2026 \u2019", offsets=((0, 1), (2, 3)))
    assert [is_punctuation(tokens, [position]) for position in (0, 1)] == [True, True]
    assert surface(tokens, [0]) == "\u2026"


@pytest.mark.parametrize(
    ("length", "side"), [(10, 4), (9, 9), (3, 8), (1, 1), (65, 64), (8192, 512), (1000, 64), (0, 4)]
)
def test_blocks_are_cut_as_array_split_cuts(length: int, side: int) -> None:
    expected = [part[0] for part in np.array_split(np.arange(length), min(length, side))] if length else []
    assert pool_starts(length, side).tolist() == expected


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("side", [1, 3, 4, 7, 100])
def test_max_pool_is_the_largest_of_each_block(axis: int, side: int) -> None:
    cells = np.random.default_rng(0).normal(size=(10, 11)).astype(np.float32)
    cells[2, 3] = np.nan
    parts = np.array_split(cells, min(side, cells.shape[axis]), axis=axis)
    expected = np.stack([part.max(axis=axis) for part in parts], axis=axis)
    np.testing.assert_array_equal(max_pool(cells, side, axis), expected)


def test_a_picture_without_cells_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="0 cells"):
        pool_starts(5, 0)
