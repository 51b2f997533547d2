"""Score predictions: accuracy, F1 of every class, confusion matrix, most confident mistakes."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.probing.results import GoldScores, ProbeScores, TextPredictions
from bertviz_core.text import counted, escape_controls, quoted, shortened, tied

MAX_CONFUSED = 200
"""Maximum number of classes of a confusion matrix; a larger one is unreadable and takes gigabytes."""


def most_accurate(scores: ProbeScores) -> str:
    """The hidden state with the greatest mean accuracy, and how many others have the same."""
    return state_name(scores.layers[scores.best]) + tied(scores.accuracy.mean(axis=1))


def gold_scores(predictions: TextPredictions, gold: Sequence[str]) -> GoldScores:
    """Score predictions against gold labels; texts without a label are left out.

    Labels match classes regardless of case. If none is a class name, 2, 2.0 and LABEL_2 are taken as the index of a
    class, as in many data sets, and True and False as those of two classes.

    Args:
        predictions: one answer for each text.
        gold: gold label of each text; "" for none.

    Raises:
        TextError: no text has a label, the answers are neither classes nor words, or there are too many classes.
    """
    if len(gold) != len(predictions.texts):
        raise ValueError(f"{len(gold)} gold labels for {len(predictions.texts)} texts")
    if predictions.are_numbers:
        raise TextError(
            f"The head of {quoted(predictions.model)} gives a number for each text and no class, so no answer is right "
            "or wrong. Leave the gold column out."
        )
    if predictions.task == "token-classification" or (not predictions.labels and not any(predictions.answers)):
        raise TextError(
            "Gold labels are compared with one class, word or answer per text; this head gives none. "
            "Leave the gold column out."
        )
    spelled, notices = _spelled(gold, predictions.labels)
    compared = np.array([place for place, label in enumerate(spelled) if label], dtype=np.int64)
    if not len(compared):
        raise TextError("The gold column is empty: no text has a label, so no answer can be called right or wrong.")
    if missing := len(gold) - len(compared):
        notices.append(f"{counted(missing, 'text')} without a gold label left out of the comparison.")
    answers = _open_answers(predictions)
    occurring = dict.fromkeys(
        [*predictions.labels, *(spelled[at] for at in compared), *(answers[at] for at in compared)]
    )
    classes = tuple(occurring)
    if len(classes) > MAX_CONFUSED and predictions.labels:
        raise TextError(
            f"The gold column and the answers have {len(classes):,} different labels; at most {MAX_CONFUSED} are "
            "compared. Choose the column with the classes."
        )
    return _scored(predictions.scores, classes, spelled, answers, compared, tuple(notices))


def _scored(
    scores: Float[np.ndarray, " texts"],
    classes: tuple[str, ...],
    gold: Sequence[str],
    answers: Sequence[str],
    compared: np.ndarray,
    notices: tuple[str, ...],
) -> GoldScores:
    if len(classes) > MAX_CONFUSED:  # words or spans: only right and wrong are reported
        classes = ("right", "wrong")
        pairs = [(0, 0) if gold[at] == answers[at] else (0, 1) for at in compared.tolist()]
    else:
        place = {label: index for index, label in enumerate(classes)}
        pairs = [(place[gold[at]], place[answers[at]]) for at in compared.tolist()]
    confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(confusion, tuple(np.array(pairs).T), 1)
    both = confusion.sum(axis=0) + confusion.sum(axis=1)
    wrong = np.array([at for at in compared.tolist() if gold[at] != answers[at]], dtype=np.int64)
    order = np.argsort(-np.nan_to_num(scores[wrong], nan=-1.0), kind="stable")
    return GoldScores(
        classes=classes,
        confusion=confusion,
        accuracy=1.0 - len(wrong) / len(compared),
        f1=2 * confusion.diagonal() / np.maximum(both, 1),
        mistakes=wrong[order],
        compared=compared,
        gold=tuple(gold),
        notices=notices,
    )


def _open_answers(predictions: TextPredictions) -> list[str]:
    """Free-text answers normalised for comparison: lower case, single spaces."""
    return list(predictions.answers) if predictions.labels else [_plain(each) for each in predictions.answers]


def _spelled(gold: Sequence[str], labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return gold labels in the spelling of the classes, and notices."""
    stripped = [label.strip() for label in gold]
    if not labels:
        return [_plain(label) for label in stripped], []
    if places := class_places(stripped, labels):
        first = min(places, key=lambda label: places[label])
        words = f"{shortened(escape_controls(first), 40)} is {quoted(labels[places[first]], 40)}"
        notice = f"The gold labels are read as the classes' places: {words}."
        return [labels[places[label]] if label else "" for label in stripped], [notice]
    by_name = _by_name(labels)
    unknown = Counter(label for label in stripped if label and label.casefold() not in by_name)
    spelled = [by_name.get(label, by_name.get(label.casefold(), label)) for label in stripped]
    if not unknown:
        return spelled, []
    named = _named(list(unknown), 3)
    return spelled, [
        f"{counted(unknown.total(), 'text')} with a gold label that is no class of this head ({named}); any "
        f"answer there counts as a mistake. Its classes are {_named(labels, 8)}."
    ]


def class_places(gold: Iterable[str], labels: Sequence[str]) -> dict[str, int]:
    """Gold label -> place of its class, if no gold label is the name of a class and each stands for one; else {}."""
    by_name = _by_name(labels)
    numbers = {_number(label): place for place, label in reversed([*enumerate(labels)])}
    places = {label: _place(label, len(labels), numbers) for each in gold if (label := each.strip())}
    known = {label: place for label, place in places.items() if place is not None and label.casefold() not in by_name}
    return known if len(known) == len(places) else {}


def _by_name(labels: Sequence[str]) -> dict[str, str]:
    return {**{label.casefold(): label for label in reversed(labels)}, **{label: label for label in labels}}


def _place(label: str, count: int, numbers: Mapping[float, int]) -> int | None:
    """The place of the class that a label which is no class name stands for: 2, 2.0, LABEL_2, True of two classes.

    Args:
        label: the label.
        count: number of classes.
        numbers: number that is the name of a class -> its place.
    """
    plain = label.casefold().removeprefix("label_")
    if count == 2 and plain in ("false", "true"):
        return int(plain == "true")
    try:
        number = float(plain if plain.isascii() and plain != "nan" else "")
    except ValueError:
        return None
    if number in numbers:  # 2 where a class is called 2.0
        return numbers[number]
    return int(number) if number in range(count) else None


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan


def _named(labels: Sequence[str], most: int) -> str:
    return ", ".join(quoted(label, 40) for label in labels[:most]) + (", ..." if len(labels) > most else "")


def _plain(answer: str) -> str:
    return " ".join(answer.casefold().split())
