"""Label errors equal cleanlab's on the same probabilities; these are scikit-learn's cross-validated ones.

Covers `bertviz_core/predictions/probing/label_errors.py`, `bertviz_core/questions/predictions/label_errors.py`.
"""

import numpy as np
import pytest
from cleanlab import count, filter, rank
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.label_errors import (
    BOTH,
    CONFIDENT,
    MARGIN,
    NEIGHBOURS,
    NOISE_RATE,
    OTHER_CLASS,
    SELF_CONFIDENCE,
    confident_joint,
    head_places,
    label_neighbours,
    likely_labels,
    quality,
    suspects,
)
from bertviz_core.predictions.probing.reading import MOST_CHECKED, checked_rows
from bertviz_core.predictions.probing.results import LabelledTexts
from bertviz_core.predictions.probing.scores import out_of_fold

FILTERS = {
    CONFIDENT: "confident_learning",
    NOISE_RATE: "prune_by_noise_rate",
    BOTH: "both",
    OTHER_CLASS: "predicted_neq_given",
}
RANKS = {SELF_CONFIDENCE: "self_confidence", MARGIN: "normalized_margin"}


def noisy(texts: int, classes: int, seed: int, missing: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Labels, a quarter of which are wrong, of classes of different sizes, and probabilities of the right ones."""
    draw = np.random.default_rng(seed)
    right = draw.choice(classes, texts, p=np.arange(1, classes + 1) / np.arange(1, classes + 1).sum())
    logits = draw.normal(size=(texts, classes)) * 1.5
    logits[np.arange(texts), right] += 2 + draw.normal(size=texts)
    gold = np.where(draw.random(texts) < 0.25, draw.integers(classes - missing, size=texts), right)
    gold[gold >= classes - missing] = 0
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return gold, probabilities


CASES = [
    (23, 2, 0, False),
    (61, 3, 1, False),
    (307, 5, 2, False),
    (97, 7, 3, True),
    (1009, 11, 4, True),
    (41, 17, 5, True),
    (15, 4, 389, True),
]


@pytest.mark.filterwarnings("ignore:May not flag")
@pytest.mark.parametrize(("texts", "classes", "seed", "missing"), CASES)
def test_joint_and_suspects_are_cleanlabs(texts: int, classes: int, seed: int, missing: bool) -> None:
    gold, probabilities = noisy(texts, classes, seed, missing)
    joint = confident_joint(probabilities, gold)
    np.testing.assert_array_equal(joint.counts, count.compute_confident_joint(gold, probabilities, calibrate=False))
    np.testing.assert_array_equal(joint.calibrated, count.compute_confident_joint(gold, probabilities))
    np.testing.assert_allclose(joint.thresholds, count.get_confident_thresholds(gold, probabilities), atol=1e-12)
    _, off_diagonal = count.compute_confident_joint(gold, probabilities, return_indices_of_off_diagonals=True)
    np.testing.assert_array_equal(np.flatnonzero((joint.counted_in >= 0) & (joint.counted_in != gold)), off_diagonal)
    found_any = False
    for ranked_by, method in RANKS.items():
        scores = rank.get_label_quality_scores(gold, probabilities, method=method)
        np.testing.assert_allclose(quality(probabilities, gold, ranked_by), scores, atol=1e-15)
        for found_by, filter_by in FILTERS.items():
            own = suspects(probabilities, gold, joint, found_by, ranked_by)
            theirs = filter.find_label_issues(
                gold, probabilities, filter_by=filter_by, return_indices_ranked_by=method, n_jobs=1
            )
            np.testing.assert_array_equal(own, theirs, f"{found_by}, {ranked_by}")
            found_any |= len(own) > 0
            assert (likely_labels(probabilities, gold, joint)[own] != gold[own]).all()
    assert found_any


def test_a_tiny_class_keeps_a_text_as_in_cleanlab() -> None:
    """Every text of the first class is likely of another; the classes are as many as there are prunings to share."""
    gold = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    logits = np.random.default_rng(6).normal(size=(13, 3)) * 0.3
    logits[np.arange(13), np.where(gold == 0, [1, 2, 1, *[0] * 10], gold)] += 4
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    joint = confident_joint(probabilities, gold)
    for found_by, filter_by in FILTERS.items():
        theirs = filter.find_label_issues(
            gold, probabilities, filter_by=filter_by, return_indices_ranked_by="self_confidence", n_jobs=1
        )
        np.testing.assert_array_equal(suspects(probabilities, gold, joint, found_by, SELF_CONFIDENCE), theirs)


@pytest.mark.parametrize("sizes", [(9, 14, 7), (3, 20)])
def test_probabilities_are_those_of_probes_that_have_not_seen_the_text(sizes: tuple[int, ...]) -> None:
    gold = np.repeat(np.arange(len(sizes)), sizes)
    vectors = np.random.default_rng(0).normal(size=(len(gold), 11)).astype(np.float32) + gold[:, None]
    labelled = LabelledTexts("made", tuple(map(str, range(len(gold)))), tuple("xyz"[each] for each in gold))
    own, notices = out_of_fold(labelled, vectors, seed=5)
    folds = StratifiedKFold(min(5, *sizes), shuffle=True, random_state=5)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    theirs = cross_val_predict(pipeline, vectors.astype(np.float64), gold, cv=folds, method="predict_proba")
    np.testing.assert_allclose(own, theirs, atol=1e-9)
    assert any("cut into 3 parts" in each for each in notices) == (3 in sizes)


def test_neighbours_are_the_largest_cosines_of_either_label() -> None:
    draw = np.random.default_rng(3)
    vectors, gold = draw.normal(size=(19, 6)).astype(np.float32), draw.integers(3, size=19)
    gold[gold == 2] = 1
    gold[4], gold[7] = 2, 2
    places = np.array([7, 0, 4])
    labels = np.stack([gold[places], (gold[places] + 1) % 3], axis=1)
    nearest, cosines = label_neighbours(vectors, gold, places, labels)
    exact = vectors.astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    for at, place in enumerate(places):
        for side, label in enumerate(labels[at]):
            others = sorted((-(exact[place] @ exact[j]), j) for j in range(19) if gold[j] == label and j != place)
            expected = others[:NEIGHBOURS]
            assert nearest[at, side].tolist() == [j for _, j in expected] + [-1] * (NEIGHBOURS - len(expected))
            np.testing.assert_allclose(cosines[at, side, : len(expected)], [-c for c, _ in expected], atol=1e-6)


def test_labels_are_found_among_the_classes_of_a_head() -> None:
    def places(*labels: str) -> list[int]:
        return head_places(LabelledTexts("x", labels, labels), ("Good", "bad", "fair"), "m").tolist()

    assert places("good", "BAD", "fair", "Good") == [0, 1, 2, 0]
    assert places("0", "2", "LABEL_1") == [0, 2, 1]
    with pytest.raises(
        TextError, match=r"has no class 'awful' and 1 more of the labels; its classes are 'Good', 'bad'"
    ):
        places("good", "awful", "ugly")


def test_rows_that_cannot_be_checked_are_left_out_and_named() -> None:
    texts = ["one", "two", " ", "four", "five", "six", "seven"]
    labels = ["a", " b", "a", "", "a ", "b", "lone"]
    labelled = checked_rows("t.csv", texts, labels, rows=[2, 3, 5, 8, 9, 11, 12])
    assert labelled.texts == ("one", "two", "five", "six")
    assert (labelled.labels, labelled.rows) == (("a", "b", "a", "b"), (2, 3, 9, 11))
    assert labelled.notices == (
        "2 rows without a text or a label left out.",
        "Left out because no other text has the same label: 1 text ('lone').",
    )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a", "a"], "has one class, 'a'"),
        (["a", "a", "b"], "has one class, 'a'"),
        (["", "", " "], "has no text with a label"),
        (["a", "b", "c"], "Every class of 't' has a single text, such as 'a'"),
        ([str(each // 2) for each in range(202)], "has 101 classes; at most 100"),
    ],
)
def test_labels_that_cannot_be_checked_are_one_sentence(labels: list[str], message: str) -> None:
    with pytest.raises(TextError, match=message):
        checked_rows("t", [f"text {each}" for each in range(len(labels))], labels)


def test_a_long_list_is_sampled_and_says_so() -> None:
    count = 1_000_000
    labelled = checked_rows("t", ["x"] * count, [("a", "b")[each % 2] for each in range(count)])
    assert len(labelled.texts) == MOST_CHECKED == len(set(labelled.rows))
    assert labelled.notices == ("The labels of 10,000 of 1,000,000 rows, drawn at random (seed 0), are checked.",)
    assert all(label == ("a", "b")[(row - 1) % 2] for label, row in zip(labelled.labels, labelled.rows, strict=True))
