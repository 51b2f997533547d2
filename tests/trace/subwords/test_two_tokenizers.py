"""Tokens of two tokenizers meet by their characters: against a graph of the tokens that share a character."""

from collections.abc import Iterable

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from transformers import PreTrainedTokenizerFast

from bertviz_core.errors import TextError
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, TokenLimit, tokenize
from bertviz_core.trace.two_tokenizers import SharedSpan, covered, same_parts, same_tokens, shared_spans, shared_words
from tests.helpers.tiny_models import PAIR, TEXT, tiny_tokenizer
from tests.helpers.tiny_tokenizers import metaspace
from tests.helpers.two_tokenizers import MIXED, byte_tokenizer

TEXTS = (TEXT, MIXED, "  two  spaces\n", "👨‍👩‍👧 e\u0301te\u0301", "日本語 text", "x")
TOKENIZERS = {"WordPiece": tiny_tokenizer, "bytes": byte_tokenizer, "metaspace": metaspace}


def read(tokenizer: PreTrainedTokenizerFast, text: str, pair: str | None = None) -> Tokens:
    return tokenize(TextTokenizer("tiny", tokenizer, TokenLimit(None, ""), 1_000), text, pair)


def components(first: Tokens, second: Tokens, text: str) -> set[frozenset[tuple[int, int]]]:
    """Sets of (side, position) of tokens that share a character directly or by others, found as a graph."""
    nodes = [
        (side, place, {at for at in range(*span) if not text[at].isspace()})
        for side, tokens in enumerate((first, second))
        for place, span in enumerate(tokens.offsets or ())
        if span is not None and not tokens.special[place]
    ]
    nodes = [node for node in nodes if node[2]]
    edges = [(a, b) for a, one in enumerate(nodes) for b, other in enumerate(nodes) if one[2] & other[2]]
    rows, columns = np.array(edges).T
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(nodes), len(nodes)))
    count, labels = connected_components(graph, directed=False)
    return {
        frozenset((side, place) for (side, place, _), label in zip(nodes, labels, strict=True) if label == each)
        for each in range(count)
    }


def inked(tokens: Tokens, positions: Iterable[int]) -> list[int]:
    """Positions of the tokens that cover more than white space."""
    spans = {place: covered(tokens, place) for place in positions}
    return [place for place, span in spans.items() if span is not None and span[0] < span[1]]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("names", [("WordPiece", "bytes"), ("bytes", "metaspace"), ("metaspace", "WordPiece")])
def test_parts_are_the_components_of_tokens_that_share_a_character(names: tuple[str, str], text: str) -> None:
    first, second = (read(TOKENIZERS[name](), text) for name in names)
    parts = shared_spans(first, second)
    sets = {
        frozenset([*((0, at) for at in inked(first, part.first)), *((1, at) for at in inked(second, part.second))])
        for part in parts
    }
    assert sets == components(first, second, text)
    assert all(one.end <= other.start for one, other in zip(parts, parts[1:], strict=False))
    assert all(part.text == text[part.start : part.end] == part.text.strip() for part in parts)


@pytest.mark.parametrize("text", TEXTS)
def test_every_token_with_characters_is_in_one_part(text: str) -> None:
    first, second = read(tiny_tokenizer(), text), read(byte_tokenizer(), text)
    parts = shared_spans(first, second)
    for tokens, places in ((first, [part.first for part in parts]), (second, [part.second for part in parts])):
        every = sorted(place for each in places for place in each)
        expected = [place for place in range(len(tokens)) if covered(tokens, place) and not tokens.special[place]]
        assert every == expected


def test_an_emoji_of_bytes_is_one_part_and_a_word_of_both_is_another() -> None:
    first, second = read(tiny_tokenizer(), MIXED), read(byte_tokenizer(), MIXED)
    parts = {part.text: part for part in shared_spans(first, second)}
    assert len(parts["🙂"].second) == len(" 🙂".encode())
    assert len(parts["🙂"].first) == 1
    words = [part.text for part in shared_words(first, second)]
    assert "python" in words
    assert "".join(words) == MIXED.replace(" ", "")


def test_one_tokenizer_meets_itself_token_by_token_in_both_texts() -> None:
    tokens = read(tiny_tokenizer(), TEXT, PAIR)
    parts = shared_spans(tokens, tokens)
    own = [place for place in range(len(tokens)) if not tokens.special[place]]
    assert [part.first for part in parts] == [part.second for part in parts] == [(place,) for place in own]
    assert [part.sequence for part in parts] == [tokens.sequence[place] for place in own]


def test_what_only_one_model_reads_has_no_partner() -> None:
    whole = read(tiny_tokenizer(), TEXT)
    limited = TextTokenizer("tiny", tiny_tokenizer(), TokenLimit(5, "so"), 1_000)
    parts: tuple[SharedSpan, ...] = shared_spans(whole, tokenize(limited, TEXT))
    assert [bool(part.second) for part in parts] == [True] * 3 + [False] * (len(parts) - 3)


def test_tokens_of_unknown_characters_are_refused_in_one_sentence() -> None:
    tokens = read(tiny_tokenizer(), TEXT)
    blind = Tokens(**{name: getattr(tokens, name) for name in Tokens.__slots__} | {"offsets": None})
    with pytest.raises(TextError, match="does not return the characters"):
        shared_spans(tokens, blind)


def test_the_same_tokens_are_those_with_the_same_characters_whatever_they_are_called() -> None:
    """Letters of one word, as both tokenizers cut them; the markers of the tokenizers differ."""
    first, second = read(tiny_tokenizer(), "x.x"), read(byte_tokenizer(), "x.x")
    assert first.tokens != second.tokens
    inner = [[place for place in range(len(each)) if not each.special[place]] for each in (first, second)]
    spans = [[covered(each, place) for place in places] for each, places in zip((first, second), inner, strict=True)]
    assert spans[0] == spans[1]
    assert same_parts(first, second, *([(place,) for place in places] for places in inner))
    assert same_tokens(first, second) == (len(first) == len(second))


@pytest.mark.parametrize("text", TEXTS)
def test_a_tokenizer_has_its_own_tokens_and_not_those_of_bytes(text: str) -> None:
    first, second = read(tiny_tokenizer(), text), read(byte_tokenizer(), text)
    assert same_tokens(first, read(tiny_tokenizer(), text))
    inked_spans = [
        [span for place in range(len(each)) if (span := covered(each, place)) is not None] for each in (first, second)
    ]
    if inked_spans[0] != inked_spans[1]:
        assert not same_tokens(first, second)


def test_another_text_or_another_number_of_parts_is_never_the_same() -> None:
    tokens = read(tiny_tokenizer(), TEXT)
    parts = [(place,) for place in range(len(tokens))]
    assert same_parts(tokens, tokens, parts, parts)
    assert not same_parts(tokens, tokens, parts, parts[:-1])
    assert not same_parts(tokens, tokens, parts, [*parts[1:], parts[0]])
    assert not same_tokens(tokens, read(tiny_tokenizer(), f"{TEXT} x"))


def test_without_characters_the_tokens_must_be_spelled_alike() -> None:
    tokens = read(tiny_tokenizer(), TEXT)
    blind = Tokens(**{name: getattr(tokens, name) for name in Tokens.__slots__} | {"offsets": None})
    renamed = Tokens(**{name: getattr(blind, name) for name in Tokens.__slots__} | {"tokens": tokens.tokens[::-1]})
    assert same_tokens(blind, tokens)
    assert not same_tokens(renamed, tokens)
