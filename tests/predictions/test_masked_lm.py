"""Words at masks and elsewhere against transformers' fill-mask pipeline and simple loops; refusals with one message.

Covers `bertviz_core/predictions/masked_lm.py`, `bertviz_core/predictions/scoring.py`,
`bertviz_core/predictions/classes.py`, `bertviz_core/trace/words_in_context.py`.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer
from transformers import AutoModelForMaskedLM, AutoTokenizer, pipeline

from bertviz_core.errors import BertvizError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.classes import term_ledger, term_weights
from bertviz_core.predictions.masked_lm import (
    BLOCK,
    best_words,
    compared_word,
    logit_lens,
    predicted_words,
    read_masked,
    shift_position,
    word_shift,
    words_of,
)
from bertviz_core.predictions.run import HeadModel, load_head
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.masked_lm import term_weights as terms_of
from bertviz_core.questions.predictions.predict import predictions
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from tests.helpers.published import checkpoint
from tests.helpers.tiny_heads import own_outputs, save_tiny_head, tiny_head
from tests.helpers.tiny_models import TEXT

GAP = "The capital of [MASK] is [MASK]."
WHOLE = "The capital of France is Paris."
LENS_FAMILIES = ("bert", "roberta", "modernbert", "xlm-roberta-xl", "roberta-prelayernorm", "distilbert", "deberta-v2",
                 "electra", "albert", "eurobert", "esm", "mobilebert", "mpnet", "nomic_bert")  # fmt: skip
NORMED = {"modernbert": "final_norm", "eurobert": "norm", "roberta-prelayernorm": "LayerNorm",
          "xlm-roberta-xl": "encoder.LayerNorm", "esm": "encoder.emb_layer_norm_after"}  # fmt: skip


@pytest.fixture(scope="module")
def splade() -> tuple[HeadModel, TextTokenizer, Any]:
    settings = Settings.from_environment()
    source = resolve("splade-tiny", settings)
    own = AutoModelForMaskedLM.from_pretrained(bundled_folder("splade-tiny")).eval()
    return load_head(source, settings), load_tokenizer(source, settings), own


def logits(own: Any, tokenizer: TextTokenizer, ids: Any) -> Any:
    with torch.no_grad():
        return own(torch.tensor(np.array(ids))[None]).logits[0].double()


def test_masked_words_are_the_pipelines(splade: Any) -> None:
    head, tokenizer, own = splade
    tokens = tokenize(tokenizer, GAP)
    words = predicted_words(head, tokenizer, tokens, top=7)
    fill = pipeline("fill-mask", model=own, tokenizer=AutoTokenizer.from_pretrained(bundled_folder("splade-tiny")))
    assert np.flatnonzero(words.typed).tolist() == np.flatnonzero(words.masked).tolist() == [4, 6]
    for position, expected in zip((4, 6), fill(GAP, top_k=7), strict=True):
        assert words.top_ids[position].tolist() == [each["token"] for each in expected]
        np.testing.assert_allclose(
            np.exp(words.top_log_probability[position]), [each["score"] for each in expected], rtol=1e-4
        )
        assert math.isnan(words.log_probability[position])
        assert words.rank[position] == 0


def test_words_at_some_positions_are_those_of_all(splade: Any) -> None:
    head, tokenizer, _ = splade
    tokens = tokenize(tokenizer, GAP)
    every, some = predicted_words(head, tokenizer, tokens, (2,)), [6, 2]
    found = words_of(head, read_masked(head, tokenizer, tokens, (2,)), positions=some)
    np.testing.assert_array_equal(found.top_ids[some], every.top_ids[some])
    np.testing.assert_allclose(found.top_log_probability[some], every.top_log_probability[some], atol=1e-5)
    np.testing.assert_array_equal(found.masked, every.masked)
    assert found.rank[2] == every.rank[2] > 0
    others = np.delete(np.arange(len(tokens)), some)
    assert np.isnan(found.log_probability[others]).all()
    assert (found.top_ids[others] == -1).all()


def test_unmasked_positions_and_asked_masks_have_rank_and_log_probability(splade: Any) -> None:
    head, tokenizer, own = splade
    tokens = tokenize(tokenizer, WHOLE)
    for masked in ((), (6,), (2, 6)):
        words = predicted_words(head, tokenizer, tokens, masked, top=3)
        ids = np.array(tokens.input_ids)
        ids[list(masked)] = 103
        expected = logits(own, tokenizer, ids)
        for position, original in enumerate(tokens.input_ids.tolist()):
            row = expected[position]
            assert words.log_probability[position] == pytest.approx(float(row.log_softmax(-1)[original]), abs=1e-4)
            assert words.rank[position] == int((row > row[original]).sum()) + 1
        assert np.flatnonzero(words.masked).tolist() == list(masked)
        np.testing.assert_allclose(words.top_logits[0], expected[0].topk(3).values, atol=1e-4)


def test_a_published_value_of_the_bundled_model(splade: Any) -> None:
    """From the package's own use of the checkpoint, with transformers only."""
    head, tokenizer, _ = splade
    words = predicted_words(head, tokenizer, tokenize(tokenizer, "The capital of France is [MASK]."))
    assert tokenizer.spelled(words.top_ids[6][:1].tolist()) == ("city",)
    assert np.exp(words.top_log_probability[6, 0]) == pytest.approx(0.087, abs=5e-4)


@pytest.mark.network
def test_the_published_fill_of_bert_base_uncased() -> None:
    """The model's page on the Hub prints these for its first example."""
    settings, source = Settings.from_environment(), checkpoint("bert-base-uncased")
    head, tokenizer = load_head(source, settings), load_tokenizer(source, settings)
    words = predicted_words(head, tokenizer, tokenize(tokenizer, "Hello I'm a [MASK] model."), top=5)
    (place,) = np.flatnonzero(words.typed)
    assert tokenizer.spelled(words.top_ids[place].tolist()) == ("fashion", "role", "new", "super", "fine")
    published = [0.10731, 0.08774, 0.05338, 0.04667, 0.02710]
    np.testing.assert_allclose(np.exp(words.top_log_probability[place]), published, atol=2e-5)


def test_a_word_of_ones_own(splade: Any) -> None:
    head, tokenizer, own = splade
    tokens = tokenize(tokenizer, WHOLE)
    words = predicted_words(head, tokenizer, tokens, (6,))
    same = compared_word(head, tokenizer, tokens, 6, "Paris")
    assert (same.pieces, same.rank) == (("paris",), words.rank[6])
    assert same.log_probability == pytest.approx(float(words.log_probability[6]), abs=1e-5)
    other = compared_word(head, tokenizer, tokens, 6, "embeddings")
    assert other.pieces == ("em", "##bed", "##ding", "##s")
    assert other.rank is None
    ids = [*tokens.input_ids[:6], *[103] * 4, *tokens.input_ids[7:]]
    expected = logits(own, tokenizer, ids).log_softmax(-1)
    pieces = tokenizer.tokenizer.convert_tokens_to_ids(list(other.pieces))
    assert other.log_probability == pytest.approx(
        float(sum(expected[6 + place, piece] for place, piece in enumerate(pieces))), abs=1e-3
    )
    assert "4 pieces" in other.note


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["splade-tiny", "bert", "roberta", "modernbert", "bart", "fnet", "nystromformer"])
def test_pseudo_likelihood_is_masking_one_by_one(splade: Any, name: str) -> None:
    head, tokenizer, own = splade if name == "splade-tiny" else tiny_head(name, "masked-lm")
    tokens = tokenize(tokenizer, "I love my pet python, the language.")
    likelihood = pseudo_likelihood(head, tokenizer, tokens)
    expected = []
    for position in np.flatnonzero(~tokens.special).tolist():
        ids = np.array(tokens.input_ids)
        ids[position] = tokenizer.tokenizer.mask_token_id
        expected.append(-float(logits(own, tokenizer, ids)[position].log_softmax(-1)[tokens.input_ids[position]]))
    np.testing.assert_allclose(likelihood.surprise[~tokens.special], expected, atol=1e-4)
    assert np.isnan(likelihood.surprise[tokens.special]).all()
    assert likelihood.perplexity == pytest.approx(math.exp(sum(expected) / len(expected)), rel=1e-4)


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", LENS_FAMILIES)
def test_the_last_row_of_the_lens_is_the_answer_and_every_row_the_head_on_its_state(name: str) -> None:
    head, tokenizer, own = tiny_head(name, "masked-lm")
    tokens = tokenize(tokenizer, "I love my [MASK] python.")
    words, lens = predicted_words(head, tokenizer, tokens, (2,), 5), logit_lens(head, tokenizer, tokens, (2,), 5)
    assert (lens.top_ids[-1] == words.top_ids).all()
    assert (lens.top_log_probability[-1] == words.top_log_probability).all()
    np.testing.assert_array_equal(lens.log_probability[-1], words.log_probability)
    assert (lens.rank[-1] == words.rank).all()
    assert not lens.divergence[-1].any()
    assert lens.final_norm == NORMED.get(name, "")
    assert (lens.entropy >= 0).all()
    assert (lens.divergence >= -1e-5).all()
    assert lens.top_ids.shape == (4, len(tokens), 5)


def test_a_row_of_the_lens_by_hand() -> None:
    """BERT's head is cls(h): transform, normalisation, decoder; entropy and divergence summed over all words."""
    head, tokenizer, own = tiny_head("bert", "masked-lm")
    tokens = tokenize(tokenizer, "I love my pet python.")
    lens = logit_lens(head, tokenizer, tokens)
    with torch.no_grad():
        states = own.bert(torch.tensor(np.array(tokens.input_ids))[None], output_hidden_states=True).hidden_states
        rows = [own.cls(state)[0].double().log_softmax(-1) for state in states]
    for layer, row in enumerate(rows):
        ids = torch.tensor(np.array(tokens.input_ids))[:, None]
        np.testing.assert_allclose(lens.log_probability[layer], row.gather(1, ids)[:, 0], atol=1e-5)
        np.testing.assert_allclose(lens.entropy[layer], -(row.exp() * row).sum(-1), atol=1e-5)
        np.testing.assert_allclose(lens.divergence[layer], (row.exp() * (row - rows[-1])).sum(-1), atol=1e-5)
        assert (lens.top_ids[layer, :, 0] == row.argmax(-1).numpy()).all()


def test_terms_are_the_maximum_over_the_tokens_and_the_ledger_sums_to_the_score(splade: Any) -> None:
    head, tokenizer, own = splade
    texts = [tokenize(tokenizer, text) for text in (WHOLE, "Paris is a large city in Europe")]
    dense = []
    for tokens in texts:
        terms = term_weights(head, tokens)
        expected = logits(own, tokenizer, tokens.input_ids).relu().log1p()
        whole = np.zeros(expected.shape[1])
        whole[terms.ids] = terms.weights
        np.testing.assert_allclose(whole, expected.max(0).values, atol=1e-4)
        assert (terms.positions == expected.argmax(0).numpy()[terms.ids]).all()
        dense.append(whole)
    first = term_weights(head, texts[0])
    assert tokenizer.spelled(first.ids[:5].tolist()) == ("capital", "paris", "france", "french", "city")
    np.testing.assert_allclose(first.weights[:5], [2.66, 2.30, 2.16, 1.49, 1.32], atol=5e-3)
    ledger = term_ledger(first, term_weights(head, texts[1]))
    assert ledger.score == pytest.approx(float(dense[0] @ dense[1]), rel=1e-5)
    assert ledger.shares.sum() == pytest.approx(ledger.score, rel=1e-5)


def test_bad_input_is_told_in_one_sentence(splade: Any) -> None:
    head, tokenizer, _ = splade
    text, gap = tokenize(tokenizer, WHOLE), tokenize(tokenizer, GAP)
    other, bart = tiny_head("bert", "token-classification")[0], tiny_head("bart", "masked-lm")
    refusals = {
        "33 masks": lambda: predicted_words(head, tokenizer, tokenize(tokenizer, "[MASK] " * 33)),
        "There is no token 9": lambda: predicted_words(head, tokenizer, text, (9,)),
        "0 words were requested": lambda: predicted_words(head, tokenizer, text, top=0),
        "this asks for masked-lm": lambda: predicted_words(other, tokenizer, text),
        "The text has a mask": lambda: pseudo_likelihood(head, tokenizer, gap),
        "no token of its own": lambda: pseudo_likelihood(head, tokenizer, tokenize(tokenizer, "")),
        "No word to compare": lambda: compared_word(head, tokenizer, text, 6, " "),
        "no tokens of its own at position 7": lambda: compared_word(head, tokenizer, text, 7, "\u200b"),
        "reads more than one layer": lambda: logit_lens(bart[0], bart[1], tokenize(bart[1], "I love")),
    }
    for words, refused in refusals.items():
        with pytest.raises(BertvizError, match=words) as refusal:
            refused()
        assert "\n" not in str(refusal.value)


def test_a_padded_batch_changes_no_surprise() -> None:
    """The rows of the bundled model's batches and a row alone agree for a longer text."""
    head, tokenizer, own = tiny_head("xlm-roberta", "masked-lm")
    tokens = tokenize(tokenizer, "love " * 20)
    words = predicted_words(head, tokenizer, tokens, (3,))
    assert pseudo_likelihood(head, tokenizer, tokens).surprise[3] == pytest.approx(-words.log_probability[3], abs=1e-4)
    assert own_outputs(head, own, (tokens,)).logits.shape[1] == len(tokens)


def test_words_at_a_mask_before_and_after_an_edit_are_those_of_both_texts() -> None:
    head, tokenizer, _ = tiny_head("bert", "masked-lm")
    tokens, edited = (tokenize(tokenizer, text) for text in ("I love my pet.", "I love the pet river."))
    place = tokens.tokens.index("pet")
    shift = word_shift(head, tokenizer, tokens, edited, place, top=3)
    assert shift.edited_position == edited.tokens.index("pet")
    whole = [
        predicted_words(head, tokenizer, text, [at], top=37)
        for text, at in ((tokens, place), (edited, shift.edited_position))
    ]
    by_word = [
        dict(zip(tokenizer.spelled(each.top_ids[at].tolist()), np.exp(each.top_log_probability[at]), strict=True))
        for each, at in zip(whole, (place, shift.edited_position), strict=True)
    ]
    np.testing.assert_allclose(shift.before, [by_word[0][word] for word in shift.words], atol=1e-6)
    np.testing.assert_allclose(shift.after, [by_word[1][word] for word in shift.words], atol=1e-6)
    for each in by_word:
        assert set(sorted(each, key=each.__getitem__)[-3:]) <= set(shift.words)
    p, q = (np.array([each[word] for word in by_word[0]], float) for each in by_word)
    assert shift.divergence == pytest.approx(float((p * np.log(p / q)).sum()), abs=1e-5)
    assert word_shift(head, tokenizer, tokens, tokens, place).divergence == 0
    assert shift_position(tokenizer, tokens, edited) == tokens.tokens.index("love")
    typed, same = (tokenize(tokenizer, text) for text in ("I love [MASK] pet.", "I love [MASK] bank."))
    assert shift_position(tokenizer, typed, same) == 3
    with pytest.raises(BertvizError, match="changed token 3"):
        word_shift(head, tokenizer, tokens, edited, 3)


@pytest.mark.parametrize("words", [7, 3 * BLOCK, 6 * BLOCK, 6 * BLOCK + 1, 40 * BLOCK - 1])
@pytest.mark.parametrize("top", [1, 5])
def test_the_best_words_are_those_of_a_sorted_vocabulary_wherever_they_stand(words: int, top: int) -> None:
    generator = torch.Generator().manual_seed(words)
    logits = torch.stack([torch.randperm(words, generator=generator) for _ in range(20)]).float()
    order = np.argsort(-logits.numpy(), axis=1)[:, :top]
    values, ids = best_words(logits, top)
    np.testing.assert_array_equal(ids, order)
    np.testing.assert_array_equal(values, np.take_along_axis(logits.numpy(), order, axis=1))


def test_equal_logits_are_different_words() -> None:
    values, ids = best_words(torch.zeros(2, 20 * BLOCK + 3), 5)
    assert values.tolist() == [[0.0] * 5] * 2
    assert all(len(set(row)) == 5 for row in ids.tolist())


@pytest.mark.parametrize(
    ("settings_of", "words"),
    [
        ({}, ()),
        ({"pooling_strategy": "sum"}, ("adds up the weights of all tokens",)),
        ({"activation_function": "log1p_relu"}, ()),
    ],
    ids=["max", "sum", "two logarithms"],
)
def test_terms_are_those_of_sentence_transformers(
    tmp_path: Path, settings_of: dict[str, str], words: tuple[str, ...]
) -> None:
    folder = save_tiny_head("distilbert", "masked-lm", tmp_path / "tiny")
    encoder = SparseEncoder(
        modules=[Transformer(str(folder), transformer_task="fill-mask"), SpladePooling(**settings_of)], device="cpu"
    )
    encoder.save_pretrained(str(tmp_path / "sparse"))
    expected = encoder.encode([TEXT])[0].to_dense().numpy()
    opened = OpenedModel(str(tmp_path / "sparse"), Settings.from_environment(any_folder=True))
    predicted = predictions(opened, Options(values={"view": "terms"}), [(TEXT, None)])
    for answer in (terms_of(opened, Options((TEXT,))), *predicted):
        weights: Any = answer.result
        found = np.zeros_like(expected)
        found[weights.ids] = weights.weights
        assert np.abs(found - expected).max() < 1e-5
        assert len(answer.notices) == len(words)
        assert all(word in notice for word, notice in zip(words, answer.notices, strict=True))
