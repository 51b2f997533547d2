"""Tokenization: every token points into its text, nothing is truncated or replaced silently, nothing crashes."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertConfig, BlenderbotSmallConfig, CanineConfig, CanineTokenizer, RoCBertTokenizer, T5Config

from bertviz_core.errors import BertvizError, CheckpointError, TextError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import ModelSource, folder_source, resolve
from bertviz_core.sentences.encoding import tokenized
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import MAX_TOKENS, Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import (
    TextTokenizer,
    TokenLimit,
    load_tokenizer,
    position_limit,
    token_limit,
    tokenize,
)
from tests.helpers.tiny_models import PAIR, TEXT, save_tiny, tiny_config, tiny_tokenizer, vocabulary

SETTINGS = Settings.from_environment()
ANY_TEXT = st.text(alphabet=st.integers(0, 0x10FFFF).map(chr), max_size=60)


def tiny(limit: int | None = 29, max_characters: int = 200_000) -> TextTokenizer:
    return TextTokenizer("tiny", tiny_tokenizer(), TokenLimit(limit, "a limit"), max_characters)


@pytest.fixture(scope="module")
def bundled() -> TextTokenizer:
    return load_tokenizer(resolve("all-MiniLM-L6-v2", SETTINGS), SETTINGS)


def test_source_documents_ids(bundled: TextTokenizer) -> None:
    tokens = tokenize(bundled, "Sinan loves a beautiful day")
    assert tokens.input_ids.tolist() == [101, 8254, 2319, 7459, 1037, 3376, 2154, 102]
    assert tokens.tokens == ("[CLS]", "sin", "##an", "loves", "a", "beautiful", "day", "[SEP]")
    assert tokens.word_ids == (None, 0, 0, 1, 2, 3, 4, None)
    assert tokens.notices == ()
    assert tokens.limit == 512


def test_offsets_point_at_the_piece() -> None:
    tokens = tokenize(tiny(), TEXT, PAIR)
    assert tokens.offsets is not None
    for piece, place, span in zip(tokens.tokens, tokens.sequence, tokens.offsets, strict=True):
        if place is None:
            assert span is None
        else:
            text = TEXT if place == 0 else PAIR
            assert span is not None
            assert text[slice(*span)].lower() == piece.removeprefix("##")


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("pair", [None, PAIR])
def test_a_limit_is_kept_however_small(limit: int, pair: str | None) -> None:
    """Or refused if the added tokens need more: [CLS], and a [SEP] after each text."""
    least = 2 if pair is None else 3
    if limit < least:
        with pytest.raises(TextError, match=f"adds {least} tokens of its own, and a limit"):
            tokenize(tiny(limit), TEXT, pair)
    else:
        assert len(tokenize(tiny(limit), TEXT, pair)) <= limit
    if pair is None and limit < least:
        with pytest.raises(TextError, match="adds 2 tokens of its own"):
            list(tokenized(tiny(), [TEXT], SentencePlan("mean", max_seq_length=limit)))


def test_a_pair_is_told_apart() -> None:
    tokens = tokenize(tiny(), TEXT, PAIR)
    first, second = tokenize(tiny(), TEXT), tokenize(tiny(), PAIR)
    assert len(tokens) == len(first) + len(second) - 1
    assert tokens.tokens == first.tokens + second.tokens[1:]
    own = [place for place in tokens.sequence if place is not None]
    assert own == sorted(own)
    assert tokens.token_type_ids is not None
    assert tokens.token_type_ids.tolist() == [0] * len(first) + [1] * (len(second) - 1)
    assert tokens.special.tolist() == [piece in ("[CLS]", "[SEP]") for piece in tokens.tokens]


@pytest.mark.parametrize("limit", [4, 7, 9, 14])
@pytest.mark.parametrize("pair", [None, PAIR, "py"])
def test_tokens_and_tokens_cut_make_the_whole(limit: int, pair: str | None) -> None:
    whole, cut = tokenize(tiny(None), TEXT, pair), tokenize(tiny(limit), TEXT, pair)
    assert len(cut) == min(limit, len(whole))
    assert len(cut) + sum(cut.tokens_cut) == len(whole)
    for index in (0, 1):
        kept, all_of_it = cut.sequence.count(index), whole.sequence.count(index)
        assert kept + cut.tokens_cut[index] == all_of_it
    assert len(cut.notices) == sum(count > 0 for count in cut.tokens_cut)
    for count in filter(None, cut.tokens_cut):
        assert any(f"{count} token" in notice and "a limit" in notice for notice in cut.notices)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 16, "pad_token_id": 1}, 14),
        ({"model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "esm", "max_position_embeddings": 1026, "pad_token_id": 1}, 1024),
        ({"model_type": "mra", "max_position_embeddings": 512, "pad_token_id": 1}, 512),
        ({"model_type": "modernbert", "max_position_embeddings": 8192}, 8192),
        ({"model_type": "gpt2", "n_positions": 1024}, 1024),
    ],
)
def test_position_limit(config: dict[str, object], expected: int) -> None:
    found = position_limit(config)
    assert found is not None
    assert found.tokens == expected


def test_the_smallest_limit_counts_and_is_named() -> None:
    bert, t5 = BertConfig(max_position_embeddings=40).to_dict(), T5Config().to_dict()
    unset = 10**30
    assert token_limit(bert, unset, 100) == TokenLimit(40, "the model is made for 40 positions")
    assert token_limit(bert, 30, 100).tokens == 30
    assert "model_max_length" in token_limit(bert, 30, 100).reason
    assert token_limit(bert, unset, 20).tokens == 20
    assert "INSIDE_BERT_MAX_TOKENS" in token_limit(bert, unset, 20).reason
    assert position_limit(t5) is None
    assert token_limit(t5, unset, MAX_TOKENS).tokens == MAX_TOKENS


def test_limits_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INSIDE_BERT_MAX_TOKENS", "6")
    monkeypatch.setenv("INSIDE_BERT_MAX_CHARACTERS", "30")
    tokenizer = load_tokenizer(folder_source("tiny", save_tiny("bert", tmp_path)), Settings.from_environment())
    assert len(tokenize(tokenizer, TEXT)) == 6
    with pytest.raises(TextError, match="at most 30"):
        tokenize(tokenizer, "x" * 20, "y" * 11)
    for wrong in ("0", "-3", "many", "1e3", "9" * 40):
        monkeypatch.setenv("INSIDE_BERT_MAX_TOKENS", wrong)
        with pytest.raises(BertvizError, match="INSIDE_BERT_MAX_TOKENS"):
            Settings.from_environment()


@pytest.mark.parametrize("text", ["", "   ", "\n\t ", "\x00\x01\x02", "\u200b"])
def test_a_text_of_nothing_is_run_with_a_notice(text: str) -> None:
    tokens = tokenize(tiny(), text)
    assert tokens.tokens == ("[CLS]", "[SEP]")
    assert "only what the tokenizer adds" in tokens.notices[0]


def test_a_tokenizer_that_adds_nothing_refuses_an_empty_text() -> None:
    tokenizer = tiny()
    tokenizer.tokenizer.backend_tokenizer.post_processor = None
    with pytest.raises(TextError, match="no token"):
        tokenize(tokenizer, "")


@pytest.mark.parametrize(
    "text", ["\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\U0001f469\u200d\U0001f4bb", "?!"]
)
def test_only_unknown_pieces_are_run_with_a_notice(text: str) -> None:
    tokens = tokenize(tiny(), text)
    assert set(tokens.tokens[1:-1]) == {"[UNK]"}
    assert tokens.unknown.sum() == len(tokens) - 2
    assert not (tokens.unknown & tokens.special).any()
    assert "none known to the vocabulary" in tokens.notices[0]


def test_ids_without_a_row_of_the_word_table_are_told() -> None:
    tokens = tokenize(replace(tiny(), rows=8), TEXT)
    beyond = sorted({token for token in tokens.input_ids.tolist() if token >= 8})
    assert f"none for the ids {beyond[0]}, " in tokens.notices[0]


def test_special_tokens_written_in_the_text_are_special() -> None:
    tokens = tokenize(tiny(), "my [MASK] [SEP] pet")
    assert tokens.tokens == ("[CLS]", "my", "[MASK]", "[SEP]", "pet", "[SEP]")
    assert tokens.special.tolist() == [True, False, True, True, False, True]
    assert tokens.sequence == (None, 0, 0, 0, 0, None)


def test_surrogates_are_joined_or_replaced_and_told() -> None:
    joined = tokenize(tiny(), "my \ud83d\ude00 pet")
    assert joined.text == "my \U0001f600 pet"
    assert joined.notices == ()
    lone = tokenize(tiny(), "my \ud800 pet", "\udfff love \udc00")
    assert lone.text == "my \ufffd pet"
    assert lone.pair == "\ufffd love \ufffd"
    assert [notice.split()[0] for notice in lone.notices] == ["1", "2"]


@pytest.mark.slow
@given(text=ANY_TEXT, pair=st.none() | ANY_TEXT)
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_any_text_gives_rows_of_one_length(text: str, pair: str | None) -> None:
    tokens = tokenize(tiny(12), text, pair)
    assert 2 <= len(tokens) <= 12
    rows = (tokens.input_ids, tokens.token_type_ids, tokens.word_ids, tokens.offsets, tokens.sequence)
    assert {len(row) for row in (*rows, tokens.special, tokens.unknown) if row is not None} == {len(tokens)}
    tokens.text.encode()
    vocab = vocabulary()
    assert [vocab[piece] for piece in tokens.tokens] == tokens.input_ids.tolist()


@pytest.mark.parametrize(
    "text", ["word " * 20_000, "a" * 100_000, "\U0001f469\u200d\U0001f4bb" * 33_333, "(" * 100_000]
)
def test_100_000_characters_are_cut_and_said_so(bundled: TextTokenizer, text: str) -> None:
    tokens = tokenize(bundled, text)
    assert len(tokens) <= 512
    assert tokens.notices


def test_threads_share_a_tokenizer() -> None:
    tokenizer = tiny(9)
    texts = [f"{'love ' * count}python" for count in range(1, 25)]
    alone = [tokenize(tokenizer, text).input_ids.tolist() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = [tokens.input_ids.tolist() for tokens in pool.map(lambda text: tokenize(tokenizer, text), texts * 4)]
    assert together == alone * 4


def test_a_folder_without_tokenizer_says_so(tmp_path: Path) -> None:
    tiny_config("bert").save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="has no tokenizer"):
        load_tokenizer(folder_source("tiny", tmp_path), SETTINGS)


@pytest.mark.parametrize("kind", ["no vocabulary", "damaged", "code"])
def test_a_broken_tokenizer_says_so(tmp_path: Path, kind: str) -> None:
    tiny_config("bert").save_pretrained(tmp_path)
    config = {"tokenizer_class": "BertTokenizer"}
    ran = tmp_path / "ran"
    if kind == "damaged":
        (tmp_path / "tokenizer.json").write_text("{")
    if kind == "code":
        config = {"tokenizer_class": "Mine", "auto_map": {"AutoTokenizer": ["mine.Mine", None]}}
        (tmp_path / "mine.py").write_text(f"open({str(ran)!r}, 'w')\nclass Mine: pass\n")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="tokenizer"):
        load_tokenizer(folder_source("tiny", tmp_path), SETTINGS)
    assert not ran.exists()


@pytest.mark.parametrize("longest", ["NaN", "-Infinity", "0", "-3", "0.5", "true", "[8]"])
def test_a_length_that_is_none_is_refused_in_a_sentence(longest: str, tmp_path: Path) -> None:
    source = with_longest(longest, tmp_path)
    with pytest.raises(CheckpointError, match=r"'mine' has .* as model_max_length; a number of 1 or more") as refusal:
        load_tokenizer(source, SETTINGS)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("longest", "tokens"), [("8", 8), ("8.0", 8), ("Infinity", 29), ("1e308", 29), ("9" * 400, 29)]
)
def test_a_length_without_end_is_no_limit(longest: str, tokens: int, tmp_path: Path) -> None:
    assert load_tokenizer(with_longest(longest, tmp_path), SETTINGS).limit.tokens == tokens


def test_an_unknown_token_that_is_in_no_vocabulary_is_refused(tmp_path: Path) -> None:
    config = save_tiny("bert", tmp_path / "mine") / "tokenizer_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "unk_token": ""}))
    with pytest.raises(CheckpointError, match="has '' as its unknown token, which is not in its vocabulary") as refusal:
        load_tokenizer(folder_source("mine", config.parent), SETTINGS)
    assert "\n" not in str(refusal.value)


def with_longest(longest: str, folder: Path) -> ModelSource:
    """A tiny model whose tokenizer_config.json has this maximum length."""
    config = save_tiny("bert", folder / "mine") / "tokenizer_config.json"
    raw = config.read_text().rstrip().removesuffix("}").rstrip()
    config.write_text(f'{raw}, "model_max_length": {longest}}}')
    return folder_source("mine", config.parent)


def test_a_model_that_is_not_here_says_what_can_be_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(CheckpointError, match="not on this machine; .*all-MiniLM-L6-v2"):
        load_tokenizer(resolve("bert-large-cased", SETTINGS), SETTINGS)


@pytest.mark.slow
def test_a_tokenizer_in_python_has_no_words_and_a_limit_of_characters() -> None:
    canine = TextTokenizer("canine", CanineTokenizer(), token_limit(CanineConfig().to_dict(), 2048, 8192), 200_000)
    tokens = tokenize(canine, "my pet", "py")
    assert tokens.word_ids is None
    assert tokens.offsets is None
    assert tokens.sequence == (None, *[0] * 6, None, 1, 1, None)
    with pytest.raises(TextError, match="written in Python"):
        tokenize(canine, "x" * 20_001)


def test_further_ids_of_a_tokenizer_reach_the_model(tmp_path: Path) -> None:
    save_tiny("roc_bert", tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).unlink()
    pieces = list(vocabulary())
    (tmp_path / "vocab.txt").write_text("\n".join(pieces))
    (tmp_path / "word_shape.json").write_text(json.dumps({piece: index % 9 for index, piece in enumerate(pieces)}))
    (tmp_path / "word_pronunciation.json").write_text(json.dumps({p: i % 7 for i, p in enumerate(pieces)}))
    files = [str(tmp_path / name) for name in ("vocab.txt", "word_shape.json", "word_pronunciation.json")]
    RoCBertTokenizer(*files).save_pretrained(tmp_path)
    source = folder_source("tiny", tmp_path)
    tokens, loaded = tokenize(load_tokenizer(source, SETTINGS), "my pet"), load_model(source, SETTINGS)
    assert tokens.other_inputs["input_shape_ids"][1:-1].tolist() == [int(index) % 9 for index in tokens.input_ids[1:-1]]
    with_shapes = trace(loaded, tokens).hidden_states
    without = trace(loaded, replace(tokens, other_inputs={})).hidden_states
    inputs = {name: torch.tensor(ids)[None] for name, ids in tokens.other_inputs.items()}
    ids = torch.tensor(tokens.input_ids)[None]
    own = loaded.model(input_ids=ids, output_hidden_states=True, **inputs).hidden_states
    assert np.abs(with_shapes - without).max() > 0.01
    for state, expected in zip(with_shapes, own, strict=True):
        np.testing.assert_allclose(state, expected[0].detach(), atol=1e-5)


def test_tokens_cannot_be_written_to() -> None:
    tokens = tokenize(tiny(), TEXT, PAIR)
    for array in (tokens.input_ids, tokens.token_type_ids, tokens.special, tokens.unknown):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_class_that_is_no_tokenizer_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """RAG's class contains two tokenizers and is none itself; here their files or vocabulary are missing."""
    save_tiny("bert", tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "RagTokenizer"}')
    (tmp_path / "vocab.txt").write_text("[UNK]\na\n")
    # transformers refuses it itself in some versions, such as 5.15
    with pytest.raises(
        BertvizError, match="is a 'RagTokenizer', which no text can be given to|A configuration of type rag"
    ):
        load_tokenizer(folder_source("mine", tmp_path), replace(SETTINGS, isolate_models=False))


@pytest.mark.parametrize("ids", [{"a": None}, {"a": "1"}, {"a": [1]}, {"a": 10**30}, {"a": -1}, {"a": True}, {}])
def test_ids_that_are_none_are_refused_in_a_sentence(tmp_path: Path, ids: dict[str, object]) -> None:
    """A tokenizer written in Python looks up words in the file, whatever its values are."""
    BlenderbotSmallConfig(d_model=8, vocab_size=9).save_pretrained(tmp_path)
    special = ["__start__", "__end__", "__null__", *(["__unk__"] if ids else [])]
    (tmp_path / "vocab.json").write_text(json.dumps({**{word: place for place, word in enumerate(special)}, **ids}))
    (tmp_path / "merges.txt").write_text("#version\nh e@@\n")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BlenderbotSmallTokenizer"}')
    settings = replace(SETTINGS, isolate_models=False)
    with pytest.raises(BertvizError, match="where an id belongs|not in its vocabulary|cannot (be )?read"):
        tokenize(load_tokenizer(folder_source("mine", tmp_path), settings), "a")
    with pytest.raises(BertvizError, match="where an id belongs|not in its vocabulary|cannot (be )?read"):
        list(tokenized(load_tokenizer(folder_source("mine", tmp_path), settings), ["a", "a"], SentencePlan("mean")))


@pytest.mark.parametrize(("side", "words"), [("right", "end"), ("left", "beginning")])
def test_the_side_that_is_cut_off_is_that_of_the_tokenizer(side: str, words: str) -> None:
    tokenizer = tiny(6)
    tokenizer.tokenizer.truncation_side = side
    tokens = tokenize(tokenizer, TEXT)
    assert tokens.input_ids.tolist() == tokenizer.tokenizer(TEXT, truncation=True, max_length=6)["input_ids"]
    assert tokens.notices[0].split(":")[0].endswith(f"cut off at the {words} of the text")
