"""Words by classes: each class equals leave-one-out for it alone, with one run per word; probabilities add up to 0."""

from typing import Any

import numpy as np
import pytest

from bertviz_core.attribution.words import (
    MOST_CLASSES,
    ClassOutputs,
    class_attributions,
    head_classes,
    leave_one_out,
    probe_classes,
    tag_classes,
)
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.interventions.targets import MEASURES, class_target, probe_target, tag_target
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.trace.tokenization import TextTokenizer, tokenize
from tests.helpers.tiny_causes import opened
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import PAIR, TEXT


def of_head(task: str = "sequence-classification", pair: str | None = None, **changes: Any) -> Any:
    """A head, its tokenizer, a text and the head's classes."""
    head, tokenizer, _ = tiny_head("bert", task, **changes)
    tokens = tokenize(tokenizer, TEXT, pair)
    return head, tokenizer, tokens, head_classes(head, tokens)


def a_probe() -> tuple[Probe, ClassOutputs, Any, TextTokenizer]:
    """A probe of seeded weights on a tiny model."""
    loaded, tokenizer = opened("bert")
    draw, width = np.random.default_rng(3), loaded.model.config.hidden_size
    weight, bias = draw.normal(size=(3, width)).astype(np.float32), draw.normal(size=3).astype(np.float32)
    probe = Probe(loaded.name, loaded.revision, "mean", 1, ("a", "b", "c"), weight, bias, "The list", 9, 0, 0.9, 0.1)
    return probe, probe_classes(probe, loaded, tokenizer, TEXT), loaded, tokenizer


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "changes", [{"num_labels": 4}, {"num_labels": 4, "problem_type": "multi_label_classification"}]
)
@pytest.mark.parametrize("replacement", ["mask", "drop"])
def test_each_class_is_that_of_leave_one_out_alone(measure: Any, changes: dict[str, Any], replacement: Any) -> None:
    head, tokenizer, tokens, classes = of_head(pair=PAIR, **changes)
    result = class_attributions(classes, tokenizer, (), measure, replacement=replacement)
    assert sorted(result.labels) == [f"LABEL_{place}" for place in range(4)]
    for place, label in enumerate(result.labels):
        own = leave_one_out(class_target(head, tokens, label, measure), tokenizer, True, replacement)
        np.testing.assert_allclose(result.shares[:, place], own.shares, atol=1e-6)
        assert float(result.clean[place]) == pytest.approx(own.clean, abs=1e-6)
        assert (result.words, result.positions) == (own.words, own.positions)
    assert np.ptp(result.shares) > 1e-4


@pytest.mark.parametrize("measure", MEASURES)
def test_each_tag_of_a_token_is_that_of_leave_one_out_alone(measure: Any) -> None:
    head, tokenizer, _ = tiny_head("bert", "token-classification", num_labels=5)
    tokens = tokenize(tokenizer, TEXT, PAIR)
    result = class_attributions(tag_classes(head, tokens, 4), tokenizer, (), measure)
    assert sorted(result.labels) == sorted(head.model.config.id2label.values())
    assert result.noun == "tag"
    for place, label in enumerate(result.labels):
        own = leave_one_out(tag_target(head, tokens, label, 4, measure), tokenizer)
        np.testing.assert_allclose(result.shares[:, place], own.shares, atol=1e-6)
        assert float(result.clean[place]) == pytest.approx(own.clean, abs=1e-6)
    assert np.ptp(result.shares) > 1e-4
    with pytest.raises(TextError, match="no token 60"):
        tag_classes(head, tokens, 60)


def test_next_sentence_and_a_probe_have_classes_too() -> None:
    head, tokenizer, tokens, classes = of_head("next-sentence", PAIR)
    result = class_attributions(classes, tokenizer, (), "probability")
    own = leave_one_out(class_target(head, tokens, result.labels[1], "probability"), tokenizer)
    np.testing.assert_allclose(result.shares[:, 1], own.shares, atol=1e-6)
    np.testing.assert_allclose(result.shares.sum(axis=1), 0, atol=1e-6)
    probe, found, loaded, tokenizer = a_probe()
    result = class_attributions(found, tokenizer, (), "logit", whole_words=False)
    for place, label in enumerate(result.labels):
        alone = leave_one_out(probe_target(probe, loaded, tokenizer, TEXT, label), tokenizer, False)
        np.testing.assert_allclose(result.shares[:, place], alone.shares, atol=1e-6)


def test_probabilities_of_one_of_several_classes_add_up_to_nothing() -> None:
    _, tokenizer, _, classes = of_head(num_labels=5)
    result = class_attributions(classes, tokenizer, (), "probability")
    np.testing.assert_allclose(result.shares.sum(axis=1), 0, atol=1e-6)
    assert float(result.clean.sum()) == pytest.approx(1, abs=1e-6)
    assert np.abs(class_attributions(classes, tokenizer).shares.sum(axis=1)).max() > 1e-4


def test_the_text_is_run_once_a_word_whatever_the_classes() -> None:
    _, tokenizer, tokens, classes = of_head(num_labels=11)
    calls: list[tuple[int, int]] = []
    result = class_attributions(classes, tokenizer, progress=lambda done, rows: calls.append((done, rows)))
    assert result.runs == len(result.words) + 1 == calls[-1][0]
    assert (len(result.labels), result.classes) == (MOST_CLASSES, 11)
    assert result.clean.tolist() == sorted(result.clean.tolist(), reverse=True)
    every = set(classes.labels)
    dropped = class_attributions(classes, tokenizer, sorted(every - set(result.labels)))
    assert dropped.clean.max() <= result.clean.min()
    two = class_attributions(classes, tokenizer, ["LABEL_3", "LABEL_7", "LABEL_3"])
    assert sorted(two.labels) == ["LABEL_3", "LABEL_7"]


def test_the_strongest_words_have_the_sign_that_is_said() -> None:
    _, tokenizer, _, classes = of_head(num_labels=3)
    result = class_attributions(classes, tokenizer)
    for place in range(3):
        most, least = result.strongest(place)
        column = result.shares[:, place]
        assert (most is None) == (column.max() <= 0)
        assert (least is None) == (column.min() >= 0)
        assert most is None or column[most] == column.max() > 0
        assert least is None or column[least] == column.min() < 0


def test_what_cannot_be_done_is_told() -> None:
    _, tokenizer, tokens, classes = of_head(num_labels=11)
    with pytest.raises(TextError, match="choose at most 8"):
        class_attributions(classes, tokenizer, classes.labels)
    with pytest.raises(TextError, match="There is no class"):
        class_attributions(classes, tokenizer, ["joy"])
    with pytest.raises(TextError, match="give the second text"):
        of_head("next-sentence")
    _, tokenizer, _, number = of_head(num_labels=1)
    with pytest.raises(TextError, match="no probability"):
        class_attributions(number, tokenizer, (), "probability")
    head, tokenizer, _ = tiny_head("bert", "masked-lm")
    with pytest.raises(UnsupportedModelError):
        head_classes(head, tokenize(tokenizer, TEXT))
