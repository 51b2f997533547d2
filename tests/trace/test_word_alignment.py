"""The words of a text, joined with the characters between them, are the text, for every tokenizer's words."""

from collections.abc import Callable, Mapping
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from bertviz_core.attention.maps import token_groups
from bertviz_core.hidden_states.geometry import occurrences
from bertviz_core.trace.pieces import text_pieces
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, TokenLimit, tokenize
from bertviz_core.trace.word_alignment import Word, words

WORDS = (
    "The", "II", "Iraq", "fox's", "naïve", "Straße", "ﬁve", "½", "don't", "U.S.", "x", "日本語", "한국어", "テキスト",
    "مرحبا", "שָׁלוֹם", "हिन्दी", "สวัสดี", "cafe\u0301", "👩\u200d👩\u200d👧", "❤️", "▁", "Ġ", "##s", "[SEP]", "…",
    "A\u0300B",
)  # fmt: skip
BLANKS = (" ", "  ", "\u00a0", "\n", "\t", "", "\u3000", ", ")
CORPUS = ("The quick brown fox jumps over II and Iraq", "naïve Straße don't", " ".join(WORDS[:-6]), "of the of the")
SPECIAL = ("[UNK]", "[CLS]", "[SEP]")
texts = st.lists(st.tuples(st.sampled_from(BLANKS), st.sampled_from(WORDS)), min_size=1, max_size=6).map(
    lambda parts: "".join(blank + word for blank, word in parts)
)


def unigram(before: pre_tokenizers.PreTokenizer, normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    """A small vocabulary of pieces and all their characters."""
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = before
    if normalizer is not None:
        made.normalizer = normalizer
    trainer = trainers.UnigramTrainer(
        vocab_size=120, unk_token=SPECIAL[0], special_tokens=list(SPECIAL), show_progress=False
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def word_piece(lowercase: bool) -> Tokenizer:
    """BERT's normalisation and words."""
    made = Tokenizer(models.WordPiece(unk_token=SPECIAL[0]))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=list(SPECIAL), show_progress=False)
    made.train_from_iterator(CORPUS, trainer)
    return made


def byte_level(prefix: bool, regex: bool) -> Tokenizer:
    """GPT-2's bytes, some of them merged."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def characters() -> Tokenizer:
    """Every character a token and a word."""
    known = sorted(set("".join(CORPUS)))
    made = Tokenizer(models.WordLevel({piece: place for place, piece in enumerate((*SPECIAL, *known))}, SPECIAL[0]))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return made


LLAMA = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
KINDS: Mapping[str, Callable[[], Tokenizer]] = {
    "WordPiece": lambda: word_piece(True),
    "WordPiece, cased": lambda: word_piece(False),
    "byte-level": lambda: byte_level(False, True),
    "byte-level, prefix space": lambda: byte_level(True, True),
    "byte-level, whole text": lambda: byte_level(False, False),
    "Metaspace": lambda: unigram(pre_tokenizers.Metaspace()),
    "Metaspace, NFKC": lambda: unigram(pre_tokenizers.Metaspace(), normalizers.NFKC()),
    "Metaspace, no prefix": lambda: unigram(pre_tokenizers.Metaspace(prepend_scheme="never")),
    "Metaspace, unsplit": lambda: unigram(pre_tokenizers.Metaspace(split=False)),
    "Metaspace by normaliser": lambda: unigram(pre_tokenizers.Metaspace(split=False, prepend_scheme="never"), LLAMA),
    "white space, then Metaspace": lambda: unigram(
        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    ),
    "characters": characters,
}


@cache
def tokenizer(kind: str) -> TextTokenizer:
    """One of KINDS, with an added token and special tokens around each text."""
    made = KINDS[kind]()
    made.add_tokens([AddedToken("fox's", normalized=False)])
    made.add_special_tokens(list(SPECIAL))
    ends = [(piece, made.token_to_id(piece)) for piece in SPECIAL[1:]]
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", ends)
    backend = PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token=SPECIAL[0], cls_token=SPECIAL[1], sep_token=SPECIAL[2]
    )
    return TextTokenizer(kind, backend, TokenLimit(10_000, "-"), 100_000)


def check_law(tokens: Tokens, found: tuple[Word, ...]) -> None:
    """Assert this for both texts."""
    assert [position for word in found for position in word.positions] == list(range(len(tokens)))
    assert tokens.offsets is not None
    for sequence, text in enumerate((tokens.text, tokens.pair or "")):
        again, read = "", 0
        spans = [word for word in found if word.sequence == sequence and word.span is not None]
        owned = set[int]()
        for word in spans:
            assert word.span is not None
            start, end = word.span
            assert read <= start <= end
            assert word.text == text[start:end] == word.text.strip()
            again += text[read:start] + word.text
            read, owned = end, owned | set(range(start, end))
        assert again + text[read:] == text
        covered = {
            place
            for span, which in zip(tokens.offsets, tokens.sequence, strict=True)
            if which == sequence and span is not None
            for place in range(*span)
            if not text[place].isspace()
        }
        assert covered <= owned, "every character that a token covers is in a word"


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None, derandomize=True)
@example("The II  Iraq", "II I")
@example(" 日本語\u00a0x", None)
@example("cafe\u0301 मुख्य", "fox's")
@given(text=texts, pair=st.none() | texts)
def test_words_and_what_is_between_them_are_the_text(kind: str, text: str, pair: str | None) -> None:
    tokens = tokenize(tokenizer(kind), text, pair)
    found = words(tokens)
    check_law(tokens, found)
    labels = token_groups(tokens, words=True).labels
    assert all(label for label in labels)
    for word, label in zip(found, labels, strict=True):
        assert label == word.text or not word.text or bool(tokens.special[word.positions[0]])
    shown = text_pieces(tokens).runs
    assert [piece.position for run in shown for piece in run.pieces] == list(range(len(tokens)))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "characters"])
@pytest.mark.parametrize(
    "text", ["The II Iraq quick", "II II\u00a0I  Iraq", " naïve café fox", "مرحبا هنا", "cafe\u0301 x"]
)
def test_words_of_letters_are_what_white_space_parts(kind: str, text: str) -> None:
    """Equal to str.split, without duplicates as in "TThe" and "II"."""
    tokens = tokenize(tokenizer(kind), text, text)
    found = [word.text for word in words(tokens) if word.text and not tokens.special[word.positions[0]]]
    assert found == text.split() * 2


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "Metaspace" in kind])
def test_a_mark_alone_covers_no_letter(kind: str) -> None:
    """Whether it represents a space of the text or one added by the tokenizer."""
    tokens = tokenize(tokenizer(kind), "Zzz II zz")
    assert tokens.offsets is not None
    marks = [tokens.offsets[place] for place, token in enumerate(tokens.tokens) if token == "▁"]
    assert marks
    assert all(span is not None and not tokens.text[slice(*span)].strip() for span in marks)
    ((first, *_),) = occurrences(tokens, "Zzz")
    assert tokens.tokens[first].endswith("Z") or tokens.unknown[first]
    assert all(tokens.tokens[place] != "▁" for places in occurrences(tokens, "zz") for place in places)
