"""Positions of a word: found by characters for every family of tokenizers, never as part of another word."""

from dataclasses import replace
from typing import Any

import pytest
from tokenizers import normalizers
from transformers import PreTrainedTokenizerFast

from bertviz_core.hidden_states.geometry import occurrences, shared_word, word_spans
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, TokenLimit, tokenize
from tests.helpers.tiny_models import tiny_tokenizer
from tests.helpers.tiny_tokenizers import byte_level, metaspace

SENTENCES = ("I love my pet python.", "I love coding in python.", "The Pythons love the python, pythons.")


def read(tokenizer: Any, text: str, pair: str | None = None) -> Tokens:
    return tokenize(TextTokenizer("tiny", tokenizer, TokenLimit(None, ""), 1000), text, pair)


def wordpiece(text: str, pair: str | None = None) -> Tokens:
    return read(tiny_tokenizer(), text, pair)


def lower_metaspace() -> PreTrainedTokenizerFast:
    """A tokenizer as in ALBERT uncased."""
    made = metaspace()
    made.backend_tokenizer.normalizer = normalizers.Lowercase()
    return made


KINDS = {"metaspace": metaspace, "byte level": byte_level, "lower case": lower_metaspace, "word pieces": tiny_tokenizer}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_word_with_punctuation_behind_it_is_found_in_every_family(kind: str, sentence: str) -> None:
    tokens = read(KINDS[kind](), sentence)
    (positions,) = occurrences(tokens, "python")
    start = sentence.index(" python") + 1
    covered = {place for position in positions for place in range(*tokens.offsets[position])}
    assert set(range(start, start + 6)) <= covered <= set(range(start - 1, start + 6))


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_another_word_is_no_occurrence(kind: str) -> None:
    tokens = read(KINDS[kind](), "I love pythons.")
    assert occurrences(tokens, "python") == ()
    assert len(occurrences(tokens, "PYTHONS")) == 1


def test_occurrences_of_a_word_with_its_pieces() -> None:
    tokens = wordpiece("The Pythons love the python, pythons.", "My python")
    assert occurrences(tokens, "python") == ((6,), (13,))
    assert occurrences(tokens, " PYTHONS ") == ((2, 3), (8, 9))
    assert occurrences(tokens, "[CLS]") == ()
    assert occurrences(tokens, "bank") == ()
    assert occurrences(tokens, "") == ()


@pytest.mark.parametrize("kind", KINDS)
def test_without_offsets_the_spelling_of_the_tokens_tells(kind: str) -> None:
    tokenizer = KINDS[kind]()
    for sentence in SENTENCES[:2]:
        tokens = read(tokenizer, sentence)
        assert occurrences(replace(tokens, offsets=None, word_ids=None), "python") == occurrences(tokens, "python")
    bare = replace(read(tokenizer, "I love pythons."), offsets=None, word_ids=None)
    assert occurrences(bare, "python") == ()


@pytest.mark.parametrize(
    ("text", "word", "spans"),
    [
        ("python.", "python", [(0, 6)]),
        ("“Python”, python's", "python", [(1, 7), (10, 16)]),
        ("my_python python3 xpython", "python", [(3, 9)]),
        ("Straße", "STRASSE", [(0, 6)]),
        ("Straße", "s", []),
        ("caf\u00e9 cafe\u0301 cafe", "CAF\u00c9", [(0, 4), (5, 10)]),
        ("caf\u00e9 cafe\u0301 cafe", "cafe", [(11, 15)]),
        ("我爱北京。", "北京", [(2, 4)]),
        ("أحب الثعبان.", "الثعبان", [(4, 11)]),
        ("אני אוהב נחש.", "נחש", [(9, 12)]),
        ("New York, new york", "new york", [(0, 8), (10, 18)]),
        ("aa aaa aa", "aa", [(0, 2), (7, 9)]),
        ("", "a", []),
        ("a", "  ", []),
    ],
)
def test_words_in_characters(text: str, word: str, spans: list[tuple[int, int]]) -> None:
    assert list(word_spans(text, word)) == spans


def test_a_word_that_was_cut_off_is_not_found() -> None:
    limited = TextTokenizer("tiny", tiny_tokenizer(), TokenLimit(5, "five"), 1000)
    tokens = tokenize(limited, "I love my pet python.")
    assert occurrences(tokens, "love") == ((2,),)
    assert occurrences(tokens, "python") == ()


@pytest.mark.parametrize(("text", "word"), [("a " * 50_000, "a"), ("a" * 100_000, "a" * 50_000)], ids=["many", "long"])
def test_a_long_text_of_occurrences_ends(text: str, word: str) -> None:
    """A look at every pair of positions would take longer than a test may."""
    tokens = tokenize(TextTokenizer("tiny", tiny_tokenizer(), TokenLimit(500, "positions"), 100_000), text)
    assert len(occurrences(tokens, word)) == (498 if word == "a" else 0)


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        ("The Bank is open.", "A bank on the river.", "Bank"),
        ("I love my pet python.", "python love", "python"),
        ("one two", "three", ""),
        ("", "", ""),
        ("in 2024 I saw", "2024 was", ""),
        ("snake_case", "case", "case"),
    ],
)
def test_the_longest_shared_word_is_spelled_as_in_the_first_text(first: str, second: str, word: str) -> None:
    assert shared_word(first, second) == word
