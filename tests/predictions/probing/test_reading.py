"""Labelled texts: the content of the example set, and the message for each unusable set."""

from collections import Counter

import pandas as pd
import pytest

from bertviz_core.errors import TextError
from bertviz_core.models import catalog as example_run
from bertviz_core.predictions.probing.reading import (
    checked,
    column_labels,
    drawn,
    example_set,
    fitting_set,
    gold_column,
    label_column,
    optional_labels,
    typed_labels,
)
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.settings import Settings

SETTINGS = Settings.from_environment()


def test_the_example_set_is_short_different_sentences_in_classes_of_equal_size() -> None:
    examples = example_set()
    assert len(examples.texts) == len({text.casefold() for text in examples.texts}) == 220
    assert Counter(examples.labels) == dict.fromkeys(("cooking", "music", "sport", "travel", "weather"), 44)
    assert all(10 < len(text) < 80 and text[-1] == "." for text in examples.texts)
    openings = Counter(" ".join(text.split()[:2]).casefold() for text in examples.texts)
    assert max(openings.values()) < 8  # not filled in from a few patterns


def test_the_set_that_fits_a_head_is_the_one_whose_labels_are_all_its_classes() -> None:
    places = example_run.EXAMPLE_FOLDER / example_run.TEXTS_FILE
    table = pd.read_csv(places)
    topics = ("Weather", "SPORT", "cooking", "Music", "travel", "politics")
    for classes in (("good", "bad"), ("Bad", "neutral", "GOOD")):
        fitting = fitting_set(classes)
        assert fitting is not None
        assert (fitting.name, fitting.texts) == (places.name, tuple(table["text"]))
        assert [each.lower() for each in fitting.labels] == table["label"].tolist()
        assert set(fitting.labels) <= set(classes)
    found = fitting_set(topics)
    assert found is not None
    assert (found.name, found.texts, set(found.labels)) == ("topics", example_set().texts, set(topics[:5]))
    for classes in ((), ("good",), ("LABEL_0", "LABEL_1"), ("0", "1"), topics[1:], ("positive", "negative")):
        assert fitting_set(classes) is None


def test_typed_lines_and_columns_give_the_same_set() -> None:
    typed = typed_labels(read_sentences("The list", "b\tone\na\ttwo\n\nb\tthree\na\tfour\n", SETTINGS))
    table = read_sentences("own.csv", b"text,kind\none,b\ntwo,a\nnone,\nthree,b\nfour,a\n", SETTINGS)
    columns = column_labels(table, "kind")
    assert (typed.texts, typed.labels, typed.classes) == (columns.texts, columns.labels, columns.classes)
    assert typed.texts == ("one", "two", "three", "four")
    assert columns.notices[-1] == "1 row without a label left out."


def test_labels_are_looked_for_where_they_usually_stand() -> None:
    table = read_sentences("own.csv", b"id,text,few,label\n1,a,x,0\n2,b,x,1\n3,c,y,2\n", SETTINGS)
    assert label_column(table) == "label"
    assert gold_column(table, "label") == ("0", "1", "2")
    others = read_sentences("own.csv", b"id,text,few\n1,a,x\n2,b,x\n3,c,y\n", SETTINGS)
    assert label_column(others) == "few"
    assert label_column(read_sentences("The list", "one\ntwo", SETTINGS)) is None


BAD = {
    "one class": (["a", "b"], ["x", "x"], "has one class, 'x'"),
    "many classes": ([str(n) for n in range(10_000)], [str(n) for n in range(10_000)], "has 10,000 classes"),
    "nothing": ([], [], "has no text with a label"),
    "a lone text": (["a", "b", "c"], ["x", "x", "y"], "The class 'y' has a single text"),
    "too many": (["a", "b"] * 1001, ["x", "y"] * 1001, "has 2,002 labelled texts; at most 2,000"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_unusable_set_gets_one_sentence(case: str) -> None:
    texts, labels, words = BAD[case]
    with pytest.raises(TextError, match=words):
        checked("own.csv", texts, labels)


def test_a_line_without_a_tab_and_a_column_that_is_not_there_are_named() -> None:
    with pytest.raises(TextError, match=r"Line 3 of 'The list' is no label and text: 'loose'"):
        typed_labels(read_sentences("The list", "a\tone\n\nloose\n", SETTINGS))
    with pytest.raises(TextError, match=r"no column 'gold' beside its texts; those it has: 'kind'"):
        gold_column(read_sentences("own.csv", b"text,kind\none,b\n", SETTINGS), "gold")


def test_a_label_behind_a_text_may_be_missing() -> None:
    listed = optional_labels(read_sentences("The list", "one\tb\ntwo\n\nthree\ta\n", SETTINGS))
    assert (listed.texts, listed.labels) == (("one", "two", "three"), ("b", "", "a"))
    with pytest.raises(TextError, match="has one text, which has no spread"):
        optional_labels(read_sentences("The list", "one\tb", SETTINGS))


def test_some_are_drawn_in_their_order_and_again_by_the_same_seed() -> None:
    examples = example_set()
    some = drawn(examples, 25)
    assert some == drawn(examples, 25)
    assert some.texts != drawn(examples, 25, seed=1).texts
    pairs = list(zip(examples.texts, examples.labels, strict=True))
    places = [pairs.index(pair) for pair in zip(some.texts, some.labels, strict=True)]
    assert len(places) == 25
    assert places == sorted(places)
    assert drawn(examples, 220) is examples
