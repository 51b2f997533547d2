"""Labelled texts: reading, answers, slices."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from jaxtyping import Int

from bertviz_core.errors import Named, Progress, TextError, no_progress
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.classes import class_predictions, entities, tag_predictions
from bertviz_core.predictions.masked_lm import check_masks, masked_row
from bertviz_core.predictions.probing.comparison import COVERED, RESAMPLES
from bertviz_core.predictions.probing.gold import YES, named_labels
from bertviz_core.predictions.probing.results import (
    LEAST,
    AnswerComparison,
    Probe,
    ScorePair,
    SlicedAnswers,
    TextPredictions,
    TextSlice,
)
from bertviz_core.predictions.probing.scores import introduction, probe_predictions
from bertviz_core.predictions.results import ClassPrediction, Strategy
from bertviz_core.predictions.run import HeadModel, WordHead, groups
from bertviz_core.text import counted, escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, tokenize


def text_predictions(
    head: HeadModel,
    tokenizer: TextTokenizer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    strategy: Strategy = "simple",
    progress: Progress = no_progress,
) -> TextPredictions:
    """Predict one answer per text; texts run in batches of similar length."""
    if pairs is None and head.task in ("question-answering", "next-sentence"):
        what = "a context for every question" if head.task == "question-answering" else "a second text for every text"
        raise TextError(f"This task head needs {what}; choose the column of it, or give one (", Named("pair"), ").")
    second_texts = tuple(pairs) if pairs is not None else None
    if head.task == "question-answering":
        answers, scores, notices, differences = _spans(head, tokenizer, texts, second_texts or (), progress)
        table = _table(head, texts, second_texts, answers, scores, notices)
        return replace(table, null_differences=differences)
    rows = [
        tokenize(tokenizer, text, pair) for text, pair in zip(texts, second_texts or [None] * len(texts), strict=True)
    ]
    if head.task == "masked-lm":
        answers, scores, notices = _mask_words(head, tokenizer, rows, progress)
    elif head.task == "token-classification":
        answers, scores, notices = _entities(head, tokenizer, rows, strategy, progress)
    else:
        return _class_table(head.name, head.task, class_predictions(head, rows, progress), second_texts)
    return _table(head, texts, second_texts, answers, scores, notices)


def probe_table(
    probe: Probe, loaded: LoadedModel, tokenizer: TextTokenizer, texts: Sequence[str], progress: Progress = no_progress
) -> TextPredictions:
    """Classify each text with a probe."""
    predictions = probe_predictions(probe, loaded, tokenizer, texts, progress)
    return _class_table(loaded.name, "probe", predictions, None, (introduction(probe),))


def _class_table(
    name: str,
    task: str,
    predictions: Sequence[ClassPrediction],
    pairs: tuple[str, ...] | None,
    notices: tuple[str, ...] = (),
) -> TextPredictions:
    first = predictions[0]
    logits = np.stack([each.logits for each in predictions])
    probabilities, labels = None, first.labels
    if first.scoring == "number":
        answers = [str(value) for value in logits[:, 0]]  # the shortest text that is this float32
        labels, scores = (), np.full(len(predictions), np.nan, dtype=np.float32)
    else:
        probabilities = np.stack([each.probabilities for each in predictions if each.probabilities is not None])
        scores = probabilities.max(axis=1)
        answers = [labels[place] for place in logits.argmax(axis=1).tolist()]
        if first.scoring == "sigmoid":
            answers = [_several(labels, row) for row in probabilities]
            scores = np.where(scores >= YES, scores, np.float32(np.nan))
            labels = ()  # an answer is any set of classes
    return TextPredictions(
        model=name,
        task=task,
        texts=tuple(each.tokens.text for each in predictions),
        pairs=pairs,
        answers=tuple(answers),
        scores=scores,
        labels=labels,
        probabilities=probabilities,
        logits=logits,
        outputs=first.labels,
        notices=_once([*notices, *(notice for each in predictions for notice in each.notices)]),
    )


def _several(labels: Sequence[str], probabilities: np.ndarray) -> str:
    """Return the classes with a probability of at least one half, in the order of the head."""
    return ", ".join(label for label, probability in zip(labels, probabilities, strict=True) if probability >= YES)


def are_numbered(classes: Sequence[str]) -> bool:
    """Whether a head only numbers its classes, as transformers does by default."""
    return bool(classes) and all(f"LABEL_{at}" == name for at, name in enumerate(classes))


def with_class_names(predictions: TextPredictions, names: Sequence[str]) -> TextPredictions:
    """The same answers with a reader's names of the classes, in the order of the head; as they are without names."""
    own, probabilities = predictions.outputs, predictions.probabilities
    if not names:
        return predictions
    if probabilities is None or not len(own) == len(names) == len(set(names)):
        has = f"the classes {named_labels(own, 8)}" if probabilities is not None else "no classes"
        came = f"{counted(len(set(names)), 'different name')} came; give one for each class, in this order: "
        raise TextError(f"The task head of {quoted(predictions.model)} has {has}, and {came}", Named("class_names"))
    named, several = dict(zip(own, names, strict=True)), predictions.are_label_sets
    before = {name: label for label, name in named.items() if label != name}
    words = [f"{label} is {quoted(name, 40)}" for name, label in before.items()]
    words[8:] = ["..."] if words[8:] else []
    notice = (f"The classes are named by you: {', '.join(words)}.",) if words else ()
    plain = [named.get(each, each) for each in predictions.answers]
    answers = tuple([_several(names, row) for row in probabilities] if several else plain)
    labels, notices = () if several else tuple(names), (*predictions.notices, *notice)
    return replace(predictions, answers=answers, labels=labels, outputs=tuple(names), own_names=before, notices=notices)


def _table(
    head: HeadModel,
    texts: Sequence[str],
    pairs: tuple[str, ...] | None,
    answers: Sequence[str],
    scores: np.ndarray,
    notices: Sequence[str],
) -> TextPredictions:
    about = _once([*head.notices, *notices])
    return TextPredictions(head.name, head.task, tuple(texts), pairs, tuple(answers), scores, (), None, notices=about)


def _once(notices: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notices))


def _mask_words(
    head: HeadModel, tokenizer: TextTokenizer, texts: Sequence[Tokens], progress: Progress
) -> tuple[list[str], np.ndarray, list[str]]:
    """Return the likeliest word at each mask of each text, and the product of their probabilities."""
    word_head, answers = WordHead(head), [""] * len(texts)
    scores, places, done = np.full(len(texts), np.nan, dtype=np.float32), [], 0
    mask = 0
    for tokens in texts:
        mask, typed = check_masks(tokenizer, tokens, ())
        places.append(np.flatnonzero(typed))
    for group in groups(head, [len(tokens) for tokens in texts]):
        masked = [index for index in group if len(places[index])]
        if masked:
            output = word_head.outputs([masked_row(texts[index], (), mask) for index in group])
            states = word_head.states(output)
            for index in masked:
                logits = word_head.logits(output, states[group.index(index)][places[index].tolist()])
                best = logits.log_softmax(dim=-1).max(dim=-1)
                answers[index] = ", ".join(word.strip() for word in tokenizer.spelled(best.indices.tolist()))
                scores[index] = float(best.values.sum().exp())
        done += len(group)
        progress(done, len(texts))
    notices = [notice for tokens in texts for notice in tokens.notices]
    if without := sum(not len(each) for each in places):
        notices.append(
            f"{counted(without, 'text')} without a mask ({mask_text(tokenizer)}): there is no word to fill in."
        )
    return answers, scores, notices


def mask_text(tokenizer: TextTokenizer) -> str:
    """Return the mask token as text, such as [MASK]; "" if the vocabulary has none."""
    mask = tokenizer.tokenizer.mask_token_id  # an isolated tokenizer has ids and no mask_token
    return "" if mask is None else str(tokenizer.tokenizer.convert_ids_to_tokens([mask])[0])


def _entities(
    head: HeadModel, tokenizer: TextTokenizer, texts: Sequence[Tokens], strategy: Strategy, progress: Progress
) -> tuple[list[str], np.ndarray, list[str]]:
    """Return the entities of each text with their tags, and the lowest of their scores."""
    predictions = tag_predictions(head, texts, progress)
    answers, scores = [], []
    for prediction in predictions:
        listed = entities(prediction, tokenizer, strategy)
        answers.append(", ".join(f"{each.text} ({each.label})" for each in listed))
        scores.append(min((each.score for each in listed), default=np.nan))
    return (answers, np.array(scores, dtype=np.float32), [notice for each in predictions for notice in each.notices])


def _spans(
    head: HeadModel, tokenizer: TextTokenizer, questions: Sequence[str], contexts: Sequence[str], progress: Progress
) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Return the best answer to each question in its context, its score, notices, and the null differences."""
    answers: list[str] = []
    scores: list[float | None] = []
    differences: list[float | None] = []
    notices: list[str] = []
    for place, (question, context) in enumerate(zip(questions, contexts, strict=True)):
        prediction = predicted_answers(head, tokenizer, question, context, top=1)
        answers.append(prediction.answer)
        scores.append(prediction.score)
        differences.append(prediction.null_difference)
        notices += prediction.notices
        progress(place + 1, len(questions))
    return answers, np.array(scores, dtype=np.float32), notices, np.array(differences, dtype=np.float64)


LENGTH, WORD, COLUMN = "length", "word:", "column"
"""Ways to divide the texts: by the number of words, by a word (`word:not`), or by a value given for each text."""
LONGEST = (5, 10, 20, 40)
"""Largest number of words of each slice by length but the last."""
MOST_SLICES, MOST_NAMED = 20, 60
"""Maximum number of values with a slice of their own, and of characters of a word in a name."""
EMPTY, OTHERS = "(empty)", "other values"


def sliced_answers(
    compared: AnswerComparison, by: str, values: Sequence[str] | None = None, seed: int = 0
) -> SlicedAnswers:
    """Score the answers of two models on parts of the texts.

    Args:
        by: "length" for the number of words (of both texts of a pair), "word:" with a word that texts contain or not,
            or "column".
    """
    check_division(by, len(compared.texts), values)
    if values is not None:
        names, order = _by_value(values)
    elif by == LENGTH:
        names, order = _by_length(_whole_texts(compared))
    else:
        names, order = _by_word(_whole_texts(compared), by.removeprefix(WORD).strip())
    places = {name: np.flatnonzero([each == name for each in names]) for name in order}
    slices = tuple(_scored(compared, name, at, seed) for name, at in places.items() if len(at))
    return SlicedAnswers(compared, by, slices)


def check_division(by: str, count: int, values: Sequence[str] | None) -> None:
    """Check a division of texts before they are answered."""
    if by.startswith(WORD) and not by.removeprefix(WORD).strip():
        raise TextError("A word is missing; give ", Named("slices"), "=word:not, with the word that you look for.")
    if (by == COLUMN) != (values is not None) or not (by in (LENGTH, COLUMN) or by.startswith(WORD)):
        raise TextError(
            "Texts are divided by their length, by a word, or by a column with one value for each text; give ",
            Named("slices"),
            "=length, word:not (with the word that you look for) or column.",
        )
    if values is not None and len(values) != count:
        raise TextError(f"{len(values):,} values came for {count:,} texts; give one for each.")


def _whole_texts(compared: AnswerComparison) -> list[str]:
    """Each text, followed by its second text if there is one."""
    if compared.pairs is None:
        return list(compared.texts)
    return [f"{text} {second}" for text, second in zip(compared.texts, compared.pairs, strict=True)]


def _by_length(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Slice of each text, and all slices in order."""
    between = [f"{low + 1}–{high} words" for low, high in pairwise(LONGEST)]
    order = [f"up to {LONGEST[0]} words", *between, f"over {LONGEST[-1]} words"]
    return [order[bisect_left(LONGEST, len(text.split()))] for text in texts], order


def _by_word(texts: Sequence[str], word: str) -> tuple[list[str], list[str]]:
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    name = quoted(word, MOST_NAMED)
    order = [f"with {name}", f"without {name}"]
    return [order[pattern.search(text) is None] for text in texts], order


def _by_value(values: Sequence[str]) -> tuple[list[str], list[str]]:
    """As `_by_length`; the values in the order in which they first occur, rare ones of a large number as one slice."""
    names = [escape_controls(value.strip()) or EMPTY for value in values]
    frequent = {name for name, _ in Counter(names).most_common(MOST_SLICES)}
    order = [name for name in dict.fromkeys(names) if name in frequent]
    return [name if name in frequent else OTHERS for name in names], [*order, OTHERS]


def _scored(compared: AnswerComparison, name: str, places: Int[np.ndarray, " places"], seed: int) -> TextSlice:
    agreement, gold = 1 - float(np.isin(places, compared.changed).mean()), compared.gold
    labelled = np.intersect1d(places, gold.first.compared) if gold is not None else places[:0]
    if gold is None or not len(labelled):
        return TextSlice(name, places, agreement, None, 0, 0, 0)
    total = len(labelled)
    mended, broken = (int(np.isin(each, labelled).sum()) for each in (gold.mended, gold.broken))
    first, second = (1 - int(np.isin(each.mistakes, labelled).sum()) / total for each in (gold.first, gold.second))
    interval = accuracy_interval(mended, broken, total, seed) if total >= LEAST else (np.nan, np.nan)
    accuracy = ScorePair(first, second, *interval)
    return TextSlice(name, places, agreement, accuracy, total, mended, broken)


def accuracy_interval(mended: int, broken: int, total: int, seed: int) -> tuple[float, float]:
    """Percentile interval of a difference of accuracies, from a paired bootstrap over the texts.

    A sample draws as many texts as there are, with replacement (Efron & Tibshirani 1993, chapter 13); only the numbers
    of mended and broken texts in it matter.
    """
    shares = np.array([mended, broken, total - mended - broken]) / total
    drawn = np.random.default_rng(seed).multinomial(total, shares, size=RESAMPLES)
    outside = (100 - COVERED) / 2
    low, high = np.percentile((drawn[:, 0] - drawn[:, 1]) / total, (outside, 100 - outside)).tolist()
    return low, high
