"""Reference tokenizers: bytes equal ByT5's, the small vocabulary splits like WordPiece, and both differ from BERT's."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from transformers import BertTokenizer, ByT5Tokenizer

from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.trace.pieces import BYTES, REFERENCE_TOKENIZERS, SMALL, SMALL_VOCABULARY, reference_tokenizer
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize

SETTINGS = Settings.from_environment()
TEXT, PAIR = "I love my pet python. Ça va, 漢字?", "Sinan loves a beautiful day"


@pytest.fixture(scope="module")
def small() -> TextTokenizer:
    """The small WordPiece."""
    return reference_tokenizer(SMALL, SETTINGS)


@pytest.fixture(scope="module")
def bundled() -> TextTokenizer:
    """BERT's own vocabulary."""
    return load_tokenizer(resolve("all-MiniLM-L6-v2", SETTINGS), SETTINGS)


BYTE_TOKENIZER = reference_tokenizer(BYTES, SETTINGS)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_bytes_have_the_ids_of_byt5(text: str) -> None:
    # Special tokens are one token each in a text, too; hypothesis tries the strings of all imported modules.
    assume(not any(name in text for name in BYTE_TOKENIZER.tokenizer.all_special_tokens))
    assert tokenize(BYTE_TOKENIZER, text).input_ids.tolist() == [*(byte + 3 for byte in text.encode()), 1]


def test_a_pair_of_bytes_is_ended_twice_as_in_byt5() -> None:
    found = tokenize(BYTE_TOKENIZER, TEXT, PAIR)
    assert found.input_ids.tolist() == ByT5Tokenizer()(TEXT, PAIR).input_ids
    assert not found.unknown.any()
    assert len(BYTE_TOKENIZER.tokenizer) == 259


def test_the_small_vocabulary_is_the_beginning_of_berts_and_its_characters(
    small: TextTokenizer, bundled: TextTokenizer
) -> None:
    whole, kept = bundled.tokenizer.get_vocab(), small.tokenizer.get_vocab()
    assert set(kept) < set(whole)
    assert {piece: place for piece, place in kept.items() if place < SMALL_VOCABULARY} == {
        piece: place for piece, place in whole.items() if place < SMALL_VOCABULARY
    }
    assert all(len(piece.removeprefix("##")) == 1 for piece, place in kept.items() if place >= SMALL_VOCABULARY)
    assert sorted(kept.values()) == list(range(len(kept)))


def test_the_small_vocabulary_cuts_as_berts_own_code_does_with_it(small: TextTokenizer, tmp_path: Path) -> None:
    kept = small.tokenizer.get_vocab()
    file = tmp_path / "vocab.txt"
    file.write_text("".join(f"{piece}\n" for piece in sorted(kept, key=kept.__getitem__)), encoding="utf-8")
    expected = BertTokenizer(vocab=str(file))(TEXT, PAIR)
    found = tokenize(small, TEXT, PAIR)
    assert found.input_ids.tolist() == expected.input_ids
    assert found.token_type_ids is not None
    assert found.token_type_ids.tolist() == expected.token_type_ids


@pytest.mark.parametrize("name", REFERENCE_TOKENIZERS)
def test_the_default_text_falls_into_more_tokens_than_with_the_bundled_vocabulary(
    name: str, bundled: TextTokenizer
) -> None:
    assert bundled_folder()
    found, own = (tokenize(each, "I love my pet python.") for each in (reference_tokenizer(name, SETTINGS), bundled))
    assert len(found) > len(own)
    assert found.tokens != own.tokens
    assert len(REFERENCE_TOKENIZERS[name][1]) > 40
