"""Scores of predictions equal scikit-learn's; hand-written labels are matched; mistakes are sorted by confidence."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.gold import gold_scores, shared_word, shared_words, without_gold
from bertviz_core.predictions.probing.results import SharedWord, TextPredictions
from bertviz_core.questions.views.answered import ALL, MISTAKES, RIGHT, shown_parts

LABELS = ("NEGATIVE", "NEUTRAL", "POSITIVE")


def predictions(answers: list[str], labels: tuple[str, ...] = LABELS, task: str = "probe") -> TextPredictions:
    scores = np.linspace(0.5, 0.9, len(answers)).astype(np.float32)
    texts = tuple(f"text {place}" for place in range(len(answers)))
    return TextPredictions("m", task, texts, None, tuple(answers), scores, labels, None)


def test_the_numbers_are_scikit_learns() -> None:
    draw = np.random.default_rng(1)
    gold, answers = (list(draw.choice(LABELS, 200)) for _ in range(2))
    scores = gold_scores(predictions(answers), gold)
    assert scores.accuracy == pytest.approx(accuracy_score(gold, answers))
    assert scores.macro_f1 == pytest.approx(f1_score(gold, answers, average="macro"), abs=1e-12)
    np.testing.assert_array_equal(scores.confusion, confusion_matrix(gold, answers, labels=LABELS))
    assert all(gold[at] != answers[at] for at in scores.mistakes)
    assert list(scores.mistakes) == sorted(scores.mistakes, reverse=True)  # the scores increase with the index


@pytest.mark.parametrize("count", [3, 300])
def test_words_of_their_own_are_listed_by_cells_where_there_are_few_and_as_right_and_wrong_else(count: int) -> None:
    """Words at a mask and spans have no list of classes, and are compared in small letters."""
    answers = predictions([f"Word{place}" for place in range(count)], labels=())
    scores = gold_scores(answers, ["other", *(f"word{place}" for place in range(1, count))])
    parts = shown_parts(answers, scores)
    assert (parts[MISTAKES], len(parts[ALL]), len(parts[RIGHT])) == ([0], count, count - 1)
    cells = [part for part in parts if "." in part]
    assert len(cells) == (count if count == 3 else 0)


def test_labels_are_known_by_any_capitals_and_by_their_place() -> None:
    answers = predictions(["POSITIVE", "NEGATIVE", "NEUTRAL"])
    assert gold_scores(answers, ["positive", " Negative ", "neutral"]).accuracy == 1
    numbered = gold_scores(answers, ["2", "0", "0"])
    assert numbered.accuracy == pytest.approx(2 / 3)
    assert "0 is 'NEGATIVE'" in numbered.notices[0]
    for gold in (["2.0", "0.0", "0"], ["LABEL_2", "label_0", "LABEL_0"], ["2", "0.0", "LABEL_0"]):
        assert gold_scores(answers, gold).accuracy == pytest.approx(2 / 3)
    for labels in (("1.0", "2.0"), ("LABEL_0", "LABEL_1"), ("false", "true")):
        two = gold_scores(predictions([labels[1], labels[0]], labels=labels), ["True", "False"])
        assert two.accuracy == 1
    assert gold_scores(predictions(["1.0", "2.0"], labels=("1.0", "2.0")), ["1", "2"]).accuracy == 1
    assert "no class of this task head ('3', '0')" in gold_scores(answers, ["3", "0", "NEUTRAL"]).notices[0]


def test_labels_of_which_none_is_a_class_make_no_answer_right_or_wrong() -> None:
    answers = predictions(["POSITIVE", "NEGATIVE"])
    words = without_gold(answers, gold_scores(answers, ["good", "bad"]))
    assert words.startswith("No gold label ('good', 'bad') is a class of the task head ('NEGATIVE', 'NEUTRAL', ")
    for gold in (["2", "0"], ["good", "negative"]):
        assert without_gold(answers, gold_scores(answers, gold)) == ""
    words_alone = predictions(["paris", "rome"], labels=())
    assert without_gold(words_alone, gold_scores(words_alone, ["oslo", "bern"])) == ""


@pytest.mark.parametrize(("tested", "beyond"), [(1, True), (12, True), (13, False)])
def test_the_word_that_mistakes_share_is_beyond_chance_after_bonferroni(tested: int, beyond: bool) -> None:
    """Of 10 texts 5 are mistakes, all with "not": p = 1 / (10 choose 5) = 1 / 252, times the number of words."""
    others = " ".join(f"w{place}" for place in range(tested - 1))
    missed = [f"The bed is NOT {place}good. {others if place < 3 else ''}" for place in range(5)]
    right = [f"the bed is knot{place} {others if place < 3 else ''}" for place in range(5)]
    found = shared_word([*right, *missed], [False] * 5 + [True] * 5)
    assert (found is not None) == beyond
    if found is not None:
        assert found.p_value == pytest.approx(tested / 252)
        assert found == SharedWord("not", 5, 0, found.p_value, tested)
    texts = tuple(f"{text}!" for text in (*right, *missed))
    answers = replace(predictions([LABELS[0]] * 10), texts=texts)
    words = shared_words(gold_scores(answers, [LABELS[0]] * 5 + [LABELS[1]] * 5))
    assert words.startswith("5 of the 5 mistakes contain 'not', of the 5 right answers 0 (Fisher's exact") == beyond


def test_a_word_of_four_texts_or_of_all_is_not_tested() -> None:
    assert shared_word(["not so"] * 4 + ["so"] * 90, [True] * 4 + [False] * 90) is None
    assert shared_word([], []) is None


def test_numbers_are_not_right_or_wrong() -> None:
    numbers = predictions(["0.5", "1.25"], labels=(), task="sequence-classification")
    with pytest.raises(TextError, match="gives a number for each text and no class.*Leave the gold column out"):
        gold_scores(numbers, ["0.5", "1.2"])


def test_an_unknown_label_is_a_mistake_and_an_empty_one_no_comparison() -> None:
    scores = gold_scores(predictions(["POSITIVE", "NEGATIVE", "NEUTRAL"]), ["mixed", "NEGATIVE", ""])
    assert scores.classes == (*LABELS, "mixed")
    assert scores.accuracy == 0.5
    assert scores.compared.tolist() == [0, 1]
    assert scores.mistakes.tolist() == [0]
    assert scores.notices[0].startswith("1 text with a gold label that is no class of this task head ('mixed')")
    assert scores.notices[0].endswith(f"Its classes are {', '.join(map(repr, LABELS))}.")
    assert scores.notices[1] == "1 text without a gold label left out of the comparison."


def test_words_are_right_or_wrong_but_for_capitals() -> None:
    answers = predictions(["Paris", "the  moon", "no"], labels=(), task="question-answering")
    assert gold_scores(answers, ["paris", "The moon", "yes"]).accuracy == pytest.approx(2 / 3)
    many = [f"word {place}" for place in range(400)]
    wide = gold_scores(predictions(many, labels=(), task="masked-lm"), [*many[:399], "other"])
    assert wide.classes == ("right", "wrong")
    assert wide.accuracy == pytest.approx(399 / 400)


@pytest.mark.parametrize(
    ("answers", "labels", "task", "gold", "words"),
    [
        (["POSITIVE"], LABELS, "probe", [""], "The gold column is empty"),
        (["Ann (PER)"], (), "token-classification", ["PER"], "this task head gives none"),
        (["NEUTRAL"] * 300, LABELS, "probe", [str(n) for n in range(5, 305)], "have 303 different labels"),
    ],
)
def test_what_cannot_be_compared_gets_one_sentence(
    answers: list[str], labels: tuple[str, ...], task: str, gold: list[str], words: str
) -> None:
    with pytest.raises(TextError, match=words):
        gold_scores(predictions(answers, labels, task), gold)


def sets_of(answered: np.ndarray, labels: tuple[str, ...] = LABELS) -> TextPredictions:
    """Answers of a multi-label head, as `text_predictions` writes them."""
    written = [", ".join(np.array(labels)[row]) for row in answered]
    probabilities = np.where(answered, 0.75, 0.25).astype(np.float32)
    return replace(
        predictions(written, (), "sequence-classification"), probabilities=probabilities, outputs=labels,
        logits=probabilities,
    )  # fmt: skip


def test_the_numbers_of_a_multi_label_head_are_scikit_learns() -> None:
    """Accuracy of whole sets, and the mean F1 of the labels, each by itself."""
    draw = np.random.default_rng(2)
    gold, answered = (draw.random((60, 3)) < 0.4 for _ in range(2))
    cells = [", ".join(draw.permutation(np.array(LABELS)[row])) or "none" for row in gold]
    scores = gold_scores(sets_of(answered), cells)
    assert scores.accuracy == pytest.approx(accuracy_score(gold, answered))
    assert scores.macro_f1 == pytest.approx(f1_score(gold, answered, average="macro"), abs=1e-12)
    np.testing.assert_allclose(scores.label_f1, f1_score(gold, answered, average=None), atol=1e-12)
    assert scores.confusion.sum() == 60
    parts = shown_parts(sets_of(answered), scores)
    assert sum(len(places) for part, places in parts.items() if "." in part) == 60  # also those without a label


@pytest.mark.parametrize("cell", ["POSITIVE, NEGATIVE", "['negative', 'Positive']", "2;0", "NEGATIVE|POSITIVE"])
def test_the_order_and_the_writing_of_gold_labels_do_not_make_a_mistake(cell: str) -> None:
    answers = sets_of(np.array([[True, False, True], [False, False, False]]))
    scores = gold_scores(answers, [cell, "[]"])
    assert (scores.accuracy, scores.gold) == (1, ("NEGATIVE, POSITIVE", "no label"))
    assert without_gold(answers, scores) == ""
    bare = sets_of(np.zeros((2, 3), dtype=bool))
    nothing = gold_scores(bare, ["none", "[]"])
    assert (nothing.accuracy, nothing.macro_f1, without_gold(bare, nothing)) == (1, 0, "")  # no label, so no F1
    wrong = gold_scores(answers, ["angry", "sad"])
    assert (wrong.accuracy, wrong.macro_f1) == (0, 0)
    assert "No gold label ('angry', 'sad') is a class" in without_gold(answers, wrong)
