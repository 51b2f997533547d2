"""Answers against gold labels: the labels in the spelling of the classes, and the scores."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.results import GoldScores, SharedWord, TextPredictions
from bertviz_core.text import counted, escape_controls, quoted, shortened

MAX_CONFUSED = 200
"""Maximum number of classes of a confusion matrix; a larger one is unreadable and takes gigabytes."""
AS_CLASSES = "Write the labels so, or as the number of the class, from 0."
WORDS = re.compile(r"\w+(?:['’]\w+)*")
LEAST_WITH, CHANCE = 5, 0.05
"""Least texts with a word that mistakes may share; the greatest p-value of one, which is corrected."""
ABSENT, PRESENT = ("[]", "none", "0", "0.0", "false"), ("1", "1.0", "true")
"""Gold labels that say that a text has no label, and that it has the only one."""
YES = 0.5
"""Least probability of a label that a multi-label head gives."""
NO_LABEL = "no label"
"""The class of texts without a label, of a head that gives any number of them."""


def gold_scores(predictions: TextPredictions, gold: Sequence[str]) -> GoldScores:
    """Score predictions against gold labels; texts without a label are left out.

    Labels match classes regardless of case. If none is a class name, 2, 2.0 and LABEL_2 are taken as the index of a
    class, as in many data sets, and True and False as those of two classes. An answer of a multi-label head is right
    with all labels of the text and no other, in any order; macro-F1 is then the mean over the labels.
    """
    if len(gold) != len(predictions.texts):
        raise ValueError(f"{len(gold)} gold labels for {len(predictions.texts)} texts")
    if predictions.are_numbers:
        raise TextError(
            f"The task head of {quoted(predictions.model)} gives a number for each text and no class, so no answer is "
            "right or wrong. Leave the gold column out."
        )
    if predictions.task == "token-classification" or (
        not predictions.labels and not predictions.are_label_sets and not any(predictions.answers)
    ):
        raise TextError(
            "Gold labels are compared with one class, word or answer per text; this task head gives none. "
            "Leave the gold column out."
        )
    has: Bool[np.ndarray, "texts labels"] | None = None
    if predictions.are_label_sets:
        spelled, has, notices = _spelled_sets(gold, predictions.outputs)
        answers = [each or NO_LABEL for each in predictions.answers]
    else:
        spelled, notices = _spelled(gold, predictions.labels)
        answers = list(predictions.answers if predictions.labels else map(_plain, predictions.answers))
    compared = np.array([place for place, label in enumerate(spelled) if label], dtype=np.int64)
    if not len(compared):
        raise TextError("The gold column is empty: no text has a label, so no answer can be called right or wrong.")
    if missing := len(gold) - len(compared):
        notices.append(f"{counted(missing, 'text')} without a gold label left out of the comparison.")
    occurring = dict.fromkeys(
        [*predictions.labels, *(spelled[at] for at in compared), *(answers[at] for at in compared)]
    )
    classes = tuple(occurring)
    if len(classes) > MAX_CONFUSED and predictions.labels:
        raise TextError(
            f"The gold column and the answers have {len(classes):,} different labels; at most {MAX_CONFUSED} are "
            "compared. Choose the column with the classes."
        )
    scores = _scored(predictions, classes, spelled, answers, compared, tuple(notices))
    return scores if has is None else replace(scores, label_f1=_label_f1(has[compared], predictions, compared))


def _label_f1(
    has: Bool[np.ndarray, "compared labels"], predictions: TextPredictions, compared: Int[np.ndarray, " compared"]
) -> Float[np.ndarray, " labels"]:
    """F1 of each label; NaN for one that no text has and no answer gives."""
    probabilities = cast("Float[np.ndarray, 'texts labels']", predictions.probabilities)
    answered = probabilities[compared] >= YES
    both = has.sum(axis=0) + answered.sum(axis=0)
    hits = (has & answered).sum(axis=0)
    f1: np.ndarray = np.divide(2.0 * hits, both, out=np.full(len(both), np.nan), where=both > 0)
    return f1


def without_gold(predictions: TextPredictions, scores: GoldScores) -> str:
    """Why no answer is right or wrong: no gold label is a class; "" if one is, or if there are no classes."""
    labels, classes = dict.fromkeys(scores.gold[at] for at in scores.compared.tolist()), predictions.labels
    if predictions.are_label_sets:
        classes = predictions.outputs
        if NO_LABEL in labels or any(places is not None for places in label_sets(list(labels), classes)):
            return ""
    elif not classes or labels.keys() & set(classes):
        return ""
    return (
        f"No gold label ({named_labels(list(labels), 3)}) is a class of the task head ({named_labels(classes, 8)}), so "
        f"no answer is right or wrong. {AS_CLASSES}"
    )


def by_confidence(scores: Float[np.ndarray, " texts"], places: Int[np.ndarray, " some"]) -> Int[np.ndarray, " some"]:
    """Indices of texts in the order of the probabilities of their answers, the most confident first."""
    order: np.ndarray = places[np.argsort(-np.nan_to_num(scores[places], nan=-1.0), kind="stable")]
    return order


def shared_word(texts: Sequence[str], wrong: Sequence[bool]) -> SharedWord | None:
    """The word whose presence raises the share of mistakes most, beyond chance; None without one.

    Words are lower-cased, with apostrophes inside; tested are those in at least five texts
    by Fisher's exact test, one-sided, with Bonferroni's correction.
    """
    from scipy.stats import hypergeom

    among: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for text, is_wrong in zip(texts, wrong, strict=True):
        among[is_wrong].update(set(WORDS.findall(text.lower())))
    both, total, mistakes = among[True] + among[False], len(texts), sum(wrong)
    words = sorted(word for word, count in both.items() if LEAST_WITH <= count < total)
    having, counts = (np.array([of[word] for word in words]) for of in (among[True], both))
    p_values = np.minimum(hypergeom.sf(having - 1, total, mistakes, counts) * len(words), 1)
    raised = having / counts - (mistakes - having) / (total - counts)
    beyond = np.flatnonzero((p_values <= CHANCE) & (having > 1))
    if not len(beyond):
        return None
    at = int(beyond[raised[beyond].argmax()])
    return SharedWord(words[at], int(having[at]), int(counts[at] - having[at]), float(p_values[at]), len(words))


def shared_words(scores: GoldScores) -> str:
    """What the mistakes share, in a sentence; "" for nothing."""
    if scores.shared is None:
        return ""
    one, wrong = scores.shared, len(scores.mistakes)
    p_value = f"= {one.p_value:.3f}" if one.p_value >= 0.001 else "< 0.001"
    return (
        f"{one.mistakes:,} of the {wrong:,} mistakes contain {quoted(one.word, 40)}, of the "
        f"{counted(len(scores.compared) - wrong, 'right answer')} {one.right:,} (Fisher's exact test: p {p_value}, "
        f"corrected for {counted(one.words, 'word')})."
    )


def _scored(
    predictions: TextPredictions,
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
    pairs_of = predictions.pairs or [""] * len(gold)
    texts = [f"{predictions.texts[at]} {pairs_of[at]}" for at in compared.tolist()]
    return GoldScores(
        classes=classes,
        confusion=confusion,
        accuracy=1.0 - len(wrong) / len(compared),
        f1=2 * confusion.diagonal() / np.maximum(both, 1),
        mistakes=by_confidence(predictions.scores, wrong),
        compared=compared,
        gold=tuple(gold),
        shared=shared_word(texts, np.isin(compared, wrong).tolist()),
        notices=notices,
    )


def _spelled(gold: Sequence[str], labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return gold labels in the spelling of the classes, and notices."""
    stripped = [label.strip() for label in gold]
    if not labels:
        return [_plain(label) for label in stripped], []
    if places := class_places(stripped, labels):
        return [labels[places[label]] if label else "" for label in stripped], [read_as_places(places, labels)]
    by_name = classes_by_name(labels)
    unknown = Counter(label for label in stripped if label and label.casefold() not in by_name)
    spelled = [by_name.get(label, by_name.get(label.casefold(), label)) for label in stripped]
    return spelled, _no_classes(unknown, labels)


def _no_classes(unknown: Counter[str], labels: Sequence[str]) -> list[str]:
    """A notice on gold labels that are no class; none without such labels."""
    if not unknown:
        return []
    return [
        f"{counted(unknown.total(), 'text')} with a gold label that is no class of this task head "
        f"({named_labels(list(unknown), 3)}); any answer there counts as a mistake. Its classes are "
        f"{named_labels(labels, 8)}."
    ]


def _spelled_sets(
    gold: Sequence[str], labels: Sequence[str]
) -> tuple[list[str], Bool[np.ndarray, "texts labels"], list[str]]:
    """Return gold labels of a multi-label head as its answers are written, which text has which, and notices."""
    known = label_sets(gold, labels)
    has = np.zeros((len(gold), len(labels)), dtype=bool)
    for row, places in enumerate(known):
        has[row, list(places or ())] = True
    spelled = [
        label.strip() if places is None else ", ".join(labels[at] for at in sorted(places)) or NO_LABEL
        for label, places in zip(gold, known, strict=True)
    ]
    unknown = Counter(label for label, places in zip(spelled, known, strict=True) if label and places is None)
    numbered = class_places([part for each in gold for part in label_parts(each)], labels)
    notices = [read_as_places(numbered, labels)] if numbered else []
    return spelled, has, [*notices, *_no_classes(unknown, labels)]


def class_places(gold: Iterable[str], labels: Sequence[str]) -> dict[str, int]:
    """Gold label -> place of its class, if no gold label is the name of a class and each stands for one; else {}."""
    by_name = classes_by_name(labels)
    numbers = {_number(label): place for place, label in reversed([*enumerate(labels)])}
    places = {label: _place(label, len(labels), numbers) for each in gold if (label := each.strip())}
    known = {label: place for label, place in places.items() if place is not None and label.casefold() not in by_name}
    return known if len(known) == len(places) else {}


def read_as_places(places: Mapping[str, int], labels: Sequence[str]) -> str:
    """Which class each of these gold labels stands for, as `class_places` reads them, in one sentence."""
    first = sorted(places, key=lambda label: places[label])[:3]
    words = [f"{shortened(escape_controls(label), 40)} is {quoted(labels[places[label]], 40)}" for label in first]
    return f"The gold labels are read as the classes' places: {', '.join(words)}{', ...' * (len(places) > len(first))}."


def label_places(gold: Iterable[str], labels: Sequence[str]) -> dict[str, int]:
    """Gold label -> place of the class that it names or stands for, as `gold_scores` reads it; others are missing."""
    stripped, by_name = [label for each in gold if (label := each.strip())], classes_by_name(labels)
    named = {label: by_name.get(label, by_name.get(label.casefold(), "")) for label in stripped}
    known = {label: labels.index(name) for label, name in named.items() if name}
    return known or class_places(stripped, labels)


def classes_by_name(labels: Sequence[str]) -> dict[str, str]:
    """Name of a class, as it is and in lower case -> its spelling; the first of equal ones."""
    return {**{label.casefold(): label for label in reversed(labels)}, **{label: label for label in labels}}


def _place(label: str, count: int, numbers: Mapping[float, int]) -> int | None:
    """The place of the class that a label which is no class name stands for: 2, 2.0, LABEL_2, True of two classes."""
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


def named_labels(labels: Sequence[str], most: int = 5) -> str:
    """The first labels, in quotes."""
    return ", ".join(quoted(label, 40) for label in labels[:most]) + (", ..." if len(labels) > most else "")


def _plain(answer: str) -> str:
    """A free-text answer normalised for comparison: lower case, single spaces."""
    return " ".join(answer.casefold().split())


def label_sets(gold: Sequence[str], outputs: Sequence[str]) -> list[set[int] | None]:
    """Places of the gold labels of each text of a multi-label head; None for a text without one, or with another."""
    cells = [[each.strip()] if each.strip() in outputs else label_parts(each) for each in gold]
    places = label_places([part for parts in cells for part in parts], outputs)
    listed: list[set[int] | None] = []
    for each, parts in zip(gold, cells, strict=True):
        word = each.strip().casefold()
        if parts and all(part in places for part in parts):
            listed.append({places[part] for part in parts})
        elif word in ABSENT[: None if len(outputs) == 1 else 2]:
            listed.append(set())
        else:
            listed.append({0} if len(outputs) == 1 and word in PRESENT else None)
    return listed


def label_parts(cell: str) -> list[str]:
    """The labels of a text in a cell such as "joy, fear", "2;5" or "['joy', 'fear']"."""
    return [part for each in re.split(r"[,;|]", cell.strip().strip("[]")) if (part := each.strip(" '\""))]
