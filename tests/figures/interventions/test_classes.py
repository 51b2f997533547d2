"""Words by classes: the drawn numbers are the shares, with the clean number next to each class."""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.attribution.results import ClassAttributions
from bertviz_core.attribution.words import class_attributions, head_classes
from bertviz_core.figures.base.style import LIGHT, theme_named
from bertviz_core.figures.interventions.words import MOST_WORDS, word_classes_figure
from bertviz_core.text import decimals
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import TEXT


@pytest.fixture(scope="module")
def result() -> ClassAttributions:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=3)
    return class_attributions(head_classes(head, tokenize(tokenizer, TEXT)), tokenizer)


def test_cells_are_the_shares_on_a_scale_around_nothing(result: ClassAttributions) -> None:
    spec = word_classes_figure(result)
    figure = spec.drawn(LIGHT)
    cells = figure.data[0]
    np.testing.assert_array_equal(cells.z, result.shares)
    assert cells.zmin == -cells.zmax
    assert cells.zmax >= np.abs(result.shares).max()
    for label, clean, head in zip(result.labels, result.clean, figure.layout.xaxis.ticktext, strict=True):
        assert label in head
        assert decimals(float(clean), 3) in head
        assert f"{label} {decimals(float(clean), 3)}" in spec.alt
    tags = word_classes_figure(replace(result, noun="tag", classes=9))
    assert "for and against each class" in spec.title
    assert "for and against each tag" in tags.title
    assert "3 of 9 tags are shown" in tags.caption
    for word, name in zip(result.words, figure.layout.yaxis.ticktext, strict=True):
        assert word in name


def test_of_a_long_text_the_strongest_words_are_drawn_in_its_order(result: ClassAttributions) -> None:
    times = MOST_WORDS // len(result.words) + 2
    shares = np.tile(result.shares, (times, 1)) * np.linspace(0.1, 1, times * len(result.words))[:, None]
    long = replace(result, words=result.words * times, positions=result.positions * times, shares=shares)
    spec = word_classes_figure(long)
    drawn = np.asarray(spec.drawn(theme_named("light", 390)).data[0].z)
    strength = np.abs(shares).max(axis=1)
    np.testing.assert_array_equal(drawn, shares[strength >= np.sort(strength)[-MOST_WORDS]])
    assert f"{MOST_WORDS} words with the largest shares of {len(strength)}" in spec.caption
