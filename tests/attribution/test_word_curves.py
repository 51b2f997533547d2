"""Comprehensiveness and sufficiency: the ends of the curves, and every point as a single run of transformers."""

import numpy as np
import pytest
import torch

from bertviz_core.attribution.gradients import integrated_gradients
from bertviz_core.attribution.results import WordAttributions, WordCurves
from bertviz_core.attribution.words import MOST_STEPS, RANDOM_ORDERS, leave_one_out, word_curves
from bertviz_core.errors import SupersededError
from bertviz_core.interventions.targets import class_target
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import opened, tiny_target
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import PAIR, TEXT


def both(whole_words: bool = True, text: str = TEXT) -> tuple[WordAttributions, WordAttributions]:
    target, tokenizer = tiny_target("bert", text), opened("bert")[1]
    return leave_one_out(target, tokenizer, whole_words), integrated_gradients(target, tokenizer, whole_words)


def curves(shares: tuple[WordAttributions, ...], text: str = TEXT, seed: int = 0) -> WordCurves:
    return word_curves(tiny_target("bert", text), opened("bert")[1], shares, seed)


def cosine_without(positions: set[int]) -> float:
    """The cosine from transformers' own run, one row alone."""
    loaded, tokenizer = opened("bert")
    mask = tokenizer.tokenizer.mask_token_id
    vectors = []
    for text, gone in ((TEXT, positions), (PAIR, set())):
        ids = [mask if at in gone else each for at, each in enumerate(tokenizer.tokenizer(text)["input_ids"])]
        row_ids = torch.tensor([ids])
        with torch.no_grad():
            state = loaded.model(input_ids=row_ids, attention_mask=torch.ones_like(row_ids)).last_hidden_state
        vectors.append(state[0].mean(dim=0))
    return float(torch.cosine_similarity(vectors[0], vectors[1], dim=0))


def test_every_point_is_a_run_made_alone() -> None:
    shares = both(whole_words=False)
    result = curves(shares)
    assert result.counts == tuple(range(result.words + 1))
    for each, curve in zip(shares, result.curves, strict=True):
        assert curve.method == each.method
        order = np.argsort(-each.shares, kind="stable")
        for count in result.counts:
            for values, gone in ((curve.without, order[:count]), (curve.alone, order[count:])):
                places = {place for word in gone for place in each.positions[word]}
                assert float(values[count]) == pytest.approx(cosine_without(places), abs=1e-5)


def test_curves_begin_and_end_at_the_text_and_its_reference() -> None:
    result = curves(both())
    every = [curve for each in result.curves for curve in (each.without, each.alone[::-1])]
    for values in (*every, *result.random, *result.random_alone[:, ::-1]):
        assert float(values[0]) == pytest.approx(cosine_without(set()), abs=1e-5)
        assert float(values[0]) == pytest.approx(result.clean)
        assert float(values[-1]) == pytest.approx(result.reference)
    assert result.reference == pytest.approx(both()[0].reference, abs=1e-5)


def test_the_random_orders_are_those_of_the_seed_and_differ() -> None:
    shares = both(whole_words=False)
    first, again, other = curves(shares), curves(shares), curves(shares, seed=1)
    np.testing.assert_array_equal(first.random, again.random)
    assert not np.array_equal(first.random, other.random)
    assert len(first.random) == RANDOM_ORDERS
    assert len(np.unique(first.random, axis=0)) > 1
    np.testing.assert_allclose(first.random_alone, first.random[:, ::-1], atol=1e-6)


def test_the_area_is_the_mean_fall() -> None:
    result = curves(both())
    values = result.curves[0].without
    expected = np.mean([result.clean - value for value in values.tolist()])
    assert float(result.area(values)) == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(
        result.area(result.random), [result.clean - row.mean() for row in result.random], atol=1e-6
    )


def test_a_long_text_is_measured_at_some_steps() -> None:
    text = "the pythons love my river bank " * 4
    shares = (leave_one_out(tiny_target("bert", text), opened("bert")[1], False),)
    result = curves(shares, text)
    assert len(result.counts) == MOST_STEPS + 1
    assert result.counts[0] == 0
    assert result.counts[-1] == result.words == len(shares[0].words) > MOST_STEPS
    assert result.random.shape == result.random_alone.shape == (RANDOM_ORDERS, MOST_STEPS + 1)
    np.testing.assert_allclose(result.random_alone[:, -1], result.clean, atol=1e-5)


def test_the_words_that_carry_a_class_are_found() -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=4)
    tokens = tokenize(tokenizer, "the pythons love my river bank")
    target = class_target(head, tokens, "LABEL_3")
    result = word_curves(target, tokenizer, [leave_one_out(target, tokenizer)])
    assert result.unit == "logit"
    assert float(result.curves[0].without[1]) <= float(result.random[:, 1].min()) + 1e-6  # no other word lowers it more


def test_other_words_are_refused_and_the_work_ends_when_asked() -> None:
    with pytest.raises(ValueError, match="one text"):
        curves((both()[0], both(text="my river bank")[0]))

    def superseded(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        word_curves(tiny_target("bert"), opened("bert")[1], both(), progress=superseded)
