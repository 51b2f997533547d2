"""Many texts with the answers of a head or probe, or of two models: scores, slices, the list, and one of the texts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.figures.checkpoints.comparison import (
    answers_compared_figure,
    interval_words,
    scores_compared_figure,
    slices_compared_figure,
)
from bertviz_core.figures.predictions.calibration import (
    SCORE_COLUMNS,
    calibration_figure,
    coverage_figure,
    scores_frame,
    scores_words,
    temperature_words,
)
from bertviz_core.figures.predictions.probes import confusion_figure, probe_figure
from bertviz_core.figures.predictions.swaps import mean_words, swaps_figure, texts_frame
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.classes import is_number
from bertviz_core.predictions.probing.calibration import NAMED, no_probability
from bertviz_core.predictions.probing.gold import NO_LABEL, by_confidence, shared_words
from bertviz_core.predictions.probing.reading import checked_rows, config_classes, fitting_set, gold_column
from bertviz_core.predictions.probing.results import (
    AnswerComparison,
    GoldComparison,
    GoldScores,
    ProbeScores,
    TextPredictions,
    WordSwaps,
)
from bertviz_core.predictions.probing.scores import most_accurate
from bertviz_core.predictions.probing.table import COLUMN, LENGTH, WORD
from bertviz_core.predictions.run import stored_tasks
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, joined_names
from bertviz_core.questions.predictions.calibration import SHOWN as CALIBRATION_SHOWN
from bertviz_core.questions.predictions.calibration import calibration, calibration_options, drawn_labels
from bertviz_core.questions.predictions.labelled_texts import (
    fitted_probes,
    labelled_options,
    scored_texts,
    text_answers,
    with_pairs,
)
from bertviz_core.questions.predictions.swaps import OUTPUT, word_swaps
from bertviz_core.questions.predictions.two_models import (
    CLASS_TASKS,
    answers_by_slice,
    compared_answers,
    compared_options,
)
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained, library_lines
from bertviz_core.questions.tables.labelled.calibration import sure_words
from bertviz_core.questions.tables.labelled.swaps import LIMITS
from bertviz_core.questions.tables.predictions import (
    LISTED,
    answer_comparison_frame,
    listed_texts,
    p_value_text,
    slices_sentence,
)
from bertviz_core.questions.view import (
    LONGEST_LINKED,
    Ask,
    Cell,
    Explained,
    Figure,
    Link,
    Links,
    Metric,
    Metrics,
    Notices,
    OtherModel,
    Part,
    SecondModel,
    Section,
    Table,
    TableFiles,
    Text,
)
from bertviz_core.questions.views.texts.checkpoint import ANSWERS, NO_HEAD, NO_LABELS, PROBED_INSTEAD
from bertviz_core.questions.views.texts.predictions import CALIBRATED, NO_GOLD_LABELS, PROBES, WORD_SWAPS
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.text import all_of, counted, escape_markdown, quoted

PROBE = "probe"
SWAPS = "Word swaps"
"""Title of a view."""
TOGETHER, BY_WORD, BY_COLUMN = "all together", "a word", "column: "
ANY, ALL_SLICES = "any label", "all slices"
ALL, MISTAKES, RIGHT = "all", "mistakes", "right"
OPEN_HELP = "the open text of the list, from 1; a click on a row of the table chooses it, too"
BY = Param(
    "answers_by",
    "text",
    "how the texts are divided, to compare the models on each part: by length, by a word or by a column",
    label="Texts by",
)
BY_THIS = Param(
    "answers_word",
    "text",
    "the word that texts contain or not",
    label="Word",
    applies=lambda _, options: options.get(BY.key) == BY_WORD,
)
KIND = Param("answers_listed", "choice", "the texts that are listed", LISTED, label="Texts listed", control="few")
LABEL = Param("answers_label", "text", "the label of the listed texts, right or answered", label="Label")
SLICE = Param("answers_slice", "text", "the slice of the listed texts", label="Slice")
OPENED = Param("answers_opened", "position", OPEN_HELP, label="Open text")
MANY_OPENED = Param("many_opened", "position", OPEN_HELP, label="Open text")
SHOWN = Param("many_shown", "text", "the part of the list that is shown", label="Texts shown")
"""It is in no address, since it means nothing without the list."""
LONGEST_NAME, MOST_LABELS = 40, 20
"""Most characters of a class in a sentence, and most classes with a column of their own."""
SHARES = ("answered", "accuracy", "low", "high")
"""Columns of the coverage that are shares."""
VIEW_OF_TASK = {
    "sequence-classification": "Classes",
    "token-classification": "Tags",
    "masked-lm": "Masked words",
    "question-answering": "Answers",
    "next-sentence": "Next sentence",
}
"""Task of a head -> view with its answer to one text."""
TARGET_OF_TASK = {
    "sequence-classification": "class",
    "next-sentence": "class",
    "masked-lm": "word",
    "question-answering": "answer",
    PROBE: "probe",
}
"""Task of a head, or PROBE -> kind of target of its answer."""
CAUSES = (("words", "Words that matter"), ("causes", "Heads that matter"))


@dataclass(frozen=True, slots=True, eq=False)
class TextList:
    """A list of texts to be answered."""

    name: str
    """Where they come from, as the end of a sentence."""
    texts: tuple[str, ...]
    """The texts; () for those of the example set."""
    gold: tuple[str, ...] | None = None
    """The gold label of each, "" for none; None without labels."""
    pairs: tuple[str, ...] | None = None
    """The second text of each; None for single texts."""
    notices: tuple[str, ...] = ()
    """Notices from reading them."""
    table: SentenceTable | None = None
    """The uploaded table, whose columns may divide the texts; None for other texts."""
    class_names: tuple[str, ...] = ()
    """Names that the reader gave the classes of the head; () for none."""


def text_lines(name: str, table: SentenceTable) -> TextList:
    """A typed list; where each line is a label, a tab and a text, with these labels."""
    parted = [line.partition("\t") for line in table.sentences]
    if not all(tab for _, tab, _ in parted):
        return TextList(name, table.sentences, notices=table.notices)
    gold, texts = tuple(label.strip() for label, _, _ in parted), tuple(text.strip() for _, _, text in parted)
    return TextList(name, texts, gold, notices=table.notices)


def open_text(text: str, pair: str, words: str, key: str, links: Sequence[Link]) -> Iterator[Part]:
    """One text in full, what is answered to it, and links that open it in other views."""
    yield Text(escape_markdown(text))
    if pair:
        yield Text(f":gray[second text:] {escape_markdown(pair)}")
    yield Text(words)
    if len(text) + len(pair) > LONGEST_LINKED:
        long = f"The text has more than {LONGEST_LINKED:,} characters, too many for a link: copy it there."
        yield Text(long, "caption")
    elif links:
        yield Links(key, "Open this text in another view", links)


def answers_parts(opened: Opened, ask: Ask, other: str, listed: TextList) -> Iterator[Part]:
    """Scores of two models, their answers against each other, and the texts with different answers."""
    options = compared_options(other, listed.texts, listed.gold, listed.pairs)
    try:
        answer = ask(compared_answers, options)
    except UnsupportedModelError as error:
        yield Text(f"{escape_markdown(str(error).partition(';')[0])}. {NO_HEAD}", "notice")
        yield from _probed_instead(opened, other, listed)
        return
    compared = answer.result
    names = f"{compared.first} {compared.second}"
    if compared.gold is not None:
        yield from _scores(compared, compared.gold)
        yield Figure.of(scores_compared_figure, answer, f"scores {names}")
    else:
        changed = Metric("Changed", f"{len(compared.changed):,}", "Texts with different answers.")
        if same := _same(compared, "Of all texts."):
            yield Metrics([*same, changed])
        yield Text(NO_LABELS, "caption")
    yield Text(escape_markdown(f"{counted(len(compared.texts), 'text')} {listed.name}."), "caption")
    yield Notices((*listed.notices, *answer.notices), "caption")
    yield Figure.of(answers_compared_figure, answer, f"answers {names}")
    columns = [] if listed.table is None else [f"{BY_COLUMN}{name}" for name in listed.table.frame.columns]
    by = replace(BY, values=lambda *_: [TOGETHER, LENGTH, BY_WORD, *columns])
    yield Section((by, BY_THIS) if compared.common else (), partial(_sliced, compared, listed, other))
    yield Explained("checkpoint_answered", ANSWERS, library_lines(compared_answers, opened, options))


def _probed_instead(opened: Opened, other: str, listed: TextList) -> Iterator[Part]:
    """The answers of the model with a head beside probes on the vectors of the one without; nothing without labels."""
    both = (opened,) if other in COPIES else (opened, opened.other(other))
    heads = [each for each in both if _class_task(each)]
    if len(both) != 2 or len(heads) != 1 or listed.pairs is not None:
        return
    head, base = heads[0], next(each for each in both if each is not heads[0])
    labelled = fitting_set(config_classes(head.source.config))
    if listed.texts:
        labelled = None if listed.gold is None else checked_rows(listed.name, listed.texts, listed.gold)
    if labelled is None:
        yield Text(NO_LABELS, "caption")
        return
    texts, labels = labelled.texts, labelled.labels

    def of_head(of: Opened, ask: Ask, _: Options) -> Iterator[Part]:
        answers = ask(text_answers, with_pairs(texts, None, _class_task(of)))
        try:
            scores = scored_texts(answers, labels, of.name).result
        except TextError as error:
            words = escape_markdown(str(error))
        else:
            words = f"Its task head is right on {scores.accuracy:.1%} of {counted(len(scores.compared), 'text')}."
        yield Text(f"**{escape_markdown(of.name)}**: {words}")

    def of_own_vectors(of: Opened, ask: Ask, _: Options) -> Iterator[Part]:
        yield probed(of, ask(fitted_probes, options).result.scores)

    options = labelled_options(labelled, "mean", 0)

    def probed(of: Opened, scores: ProbeScores) -> Text:
        best = f"{scores.accuracy.mean(axis=1)[scores.best]:.1%}, {most_accurate(scores)}"
        words = f"a probe on its vectors is right on up to {escape_markdown(best)}."
        return Text(f"**{escape_markdown(of.name)}**: {words}")

    def of_base(of: Opened, ask: Ask, _: Options) -> Iterator[Part]:
        known = ask(fitted_probes, options)
        yield probed(of, known.result.scores)
        of_figure = explained(PROBES, fitted_probes, of, options)
        yield Figure.of(probe_figure, known, f"probe accuracy {of.name}", **of_figure)

    yield Text(PROBED_INSTEAD)
    yield OtherModel(head.name, of_head)
    yield OtherModel(base.name, of_base)
    yield OtherModel(head.name, of_own_vectors)


def _class_task(opened: Opened) -> str:
    """The task of the head of a model that gives one class per text; "" if it has none."""
    try:
        return next((each for each in stored_tasks(opened.source) if each in CLASS_TASKS), "")
    except UnsupportedModelError:
        return ""


def _scores(compared: AnswerComparison, gold: GoldComparison) -> Iterator[Part]:
    accuracy, macro_f1 = gold.accuracy, gold.macro_f1
    p_value = p_value_text(gold.mcnemar_p).removeprefix("= ")
    yield Metrics.of(
        Metric("Accuracy", f"{accuracy.first:.1%} → {accuracy.second:.1%}", "Of the first → of the second."),
        Metric("Macro-F1", f"{macro_f1.first:.1%} → {macro_f1.second:.1%}", "Mean F1 of the classes."),
        Metric("Mended", f"{len(gold.mended):,}", "The first model is wrong, the second right."),
        Metric("Broken", f"{len(gold.broken):,}", "The first model is right, the second wrong."),
        Metric("McNemar's p", p_value, "Exact test of equal accuracy."),
        *_same(compared, "Of all texts, right or wrong."),
    )
    yield Text(f"Accuracy changes by **{interval_words(accuracy)}**. {verdict(gold)}")


def _same(compared: AnswerComparison, of: str) -> list[Metric]:
    return [] if compared.agreement is None else [Metric("Same answer", f"{compared.agreement:.1%}", of)]


def verdict(gold: GoldComparison) -> str:
    """What the interval of the accuracy says, in one sentence."""
    count = len(gold.first.compared)
    if gold.accuracy.low > 0:
        return f"The whole interval is above 0: on texts like these {count:,}, the second model is more accurate."
    if gold.accuracy.high < 0:
        return f"The whole interval is below 0: on texts like these {count:,}, the first model is more accurate."
    return f"The interval contains 0, so these {counted(count, 'text')} do not show that one model is more accurate."


def _sliced(
    compared: AnswerComparison, listed: TextList, other: str, opened: Opened, ask: Ask, options: Options
) -> Iterator[Part]:
    divided, word = options.get(BY.key, TOGETHER), options.get(BY_THIS.key)
    slices: dict[str, set[int]] = {}
    if divided != TOGETHER and (divided != BY_WORD or word):
        by, values = (f"{WORD}{word}" if divided == BY_WORD else divided), None
        if listed.table is not None and divided.startswith(BY_COLUMN):
            by, values = COLUMN, gold_column(listed.table, divided.removeprefix(BY_COLUMN))
        of = compared_options(other, listed.texts, listed.gold, listed.pairs, slices=by, values=values)
        answer = ask(answers_by_slice, of)
        yield Text(escape_markdown(slices_sentence(answer.result)))
        yield Figure.of(slices_compared_figure, answer, f"slices {compared.first} {compared.second}")
        slices = {each.name: set(each.places.tolist()) for each in answer.result.slices}
    elif divided == BY_WORD:
        yield Text("Write a word: the texts that contain it are compared with those that do not.", "notice")
    kinds = [kind for kind in LISTED if kind in {"changed", "all", *compared.kinds}]
    params = (
        replace(KIND, values=lambda *_: kinds),
        replace(LABEL, values=lambda *_: [ANY, *compared.labels]),
        replace(SLICE, values=lambda *_: [ALL_SLICES, *slices] if slices else []),
    )
    yield Section(params, partial(_listed, compared, slices, None if other in COPIES else other))


def _listed(
    compared: AnswerComparison,
    slices: Mapping[str, set[int]],
    second: str | None,
    opened: Opened,
    _: Ask,
    options: Options,
) -> Iterator[Part]:
    """The listed texts, by their kind, label and slice, and one of them; a rounded second model has no links."""
    places, label = listed_texts(compared, options.get(KIND.key)), options.get(LABEL.key)
    if chosen := slices.get(options.get(SLICE.key)):
        places = [place for place in places if place in chosen]
    if label != ANY:
        columns = [*compared.answers, *(() if compared.gold is None else (compared.gold.first.gold,))]
        places = [place for place in places if any(column[place] == label for column in columns)]
    if not places:
        yield Text("No text is of this kind, label and slice.", "caption")
        return
    frame = answer_comparison_frame(compared).iloc[places]
    yield TableFiles(lambda: frame, "checkpoint_answered", f"answers {compared.first} {compared.second}")
    formats = {"first probability": "%.3f", "second probability": "%.3f"}
    alt = "The texts with the answers of both models"
    every = len(compared.texts)
    yield Table(frame, alt, rows=every, formats=formats, key="answers_table", opens=OPENED.key)
    models = {"first": opened.name, **({} if second is None else {"second": second})}
    opened_one = replace(OPENED, bounds=lambda *_: (1, len(places), 1))
    yield Section((opened_one,), partial(_compared_text, compared, places, models))


def _compared_text(
    compared: AnswerComparison, places: Sequence[int], models: Mapping[str, str], _: Any, __: Ask, options: Options
) -> Iterator[Part]:
    place = places[int(options.get(OPENED.key)) - 1]
    text, pair = compared.texts[place], compared.pairs[place] if compared.pairs is not None else ""
    words = []
    if compared.gold is not None and compared.gold.first.gold[place]:
        words.append(f"gold label **{escape_markdown(compared.gold.first.gold[place])}**")
    for side, answers, scores in zip(("first", "second"), compared.answers, compared.probabilities, strict=True):
        words.append(f"{side} **{escape_markdown(answers[place])}** ({scores[place]:.3f})")
    links = [
        Link.to(f"{why} of the {side}", page, {"model": name, "text": text, "pair": pair, **more})
        for side, name in models.items()
        for why, page, more in (
            ("Classes", "predictions", {"view": "Classes"}),
            ("Words that matter", "words", {"target": "class"}),
        )
    ]
    yield from open_text(text, pair, f"{', '.join(words)}: {compared.kinds[place]}", "checkpoint_answered_open", links)


def confusion_parts(gold: Answer[GoldScores], name: str) -> Iterator[Part]:
    """The confusion matrix; a click on a cell shows its texts."""
    scores = gold.result
    texts = f"Of {counted(len(scores.compared), 'text')} with a gold label"
    words = f"{texts}: accuracy **{scores.accuracy:.1%}**, macro-F1 **{scores.macro_f1:.1%}**."
    if scores.label_f1 is not None:
        words += " An answer is right with all labels of its text and no other; the F1 is that of each label alone."
    yield Notices(scores.notices, "notice")

    def part(row: int, column: int) -> str | None:
        there = max(row, column) < len(scores.classes) and scores.confusion[row, column]
        return f"{row}.{column}" if there else None

    click = Cell("predictions_confusion", param=SHOWN, value=part)
    yield Text(words)
    shared = escape_markdown(shared_words(scores))
    yield Figure.of(confusion_figure, gold, f"confusion {name}", below=[*([Text(shared)] if shared else []), click])


def shown_parts(predictions: TextPredictions, scores: GoldScores) -> dict[str, list[int]]:
    """Name of a part of the list -> indices of its texts, the default first; a cell of the matrix is ROW.COLUMN."""
    place_of = {name: place for place, name in enumerate(scores.classes)}
    wrong, right, missed = scores.mistakes.tolist(), [], {*scores.mistakes.tolist()}
    parts = {**({MISTAKES: wrong} if wrong else {}), ALL: list(range(len(predictions.texts)))}
    cells: dict[tuple[int, int], list[int]] = {}
    for place in by_confidence(predictions.scores, scores.compared).tolist():
        # Answers in words of their own are compared in small letters, and many of them as right and wrong alone.
        both = scores.gold[place], predictions.answers[place]
        gold, answer = (place_of.get(each, place_of.get(each.lower() or NO_LABEL)) for each in both)
        if gold is not None and answer is not None:
            cells.setdefault((gold, answer), []).append(place)
        if place not in missed:
            right.append(place)
    if right:
        parts[RIGHT] = right
    most_first = sorted(cells, key=lambda cell: (cell[0] == cell[1], -len(cells[cell])))
    return parts | {f"{gold}.{answer}": cells[gold, answer] for gold, answer in most_first}


def part_words(part: str, count: int, classes: Sequence[str]) -> str:
    """What a part of the list is."""
    words = {
        ALL: all_of(count, "text"),
        MISTAKES: f"{counted(count, 'mistake')}, the most confident first",
        RIGHT: f"{counted(count, 'right answer')}, the most confident first",
    }
    if part in words:
        return words[part]
    gold, answer = (quoted(classes[int(place)], LONGEST_NAME) for place in part.split("."))
    return f"{count:,}: gold label {gold}, answer {answer}, the most confident first"


def many_parts(
    name: str, by: str, predictions: TextPredictions, gold: GoldScores | Sequence[str] | None, shown: Sequence[int]
) -> Iterator[Part]:
    """The table of the shown texts, its files, and one of them; `gold` has labels alone where none is a class."""
    frame, scores = answers_frame(predictions, gold).iloc[list(shown)], gold if isinstance(gold, GoldScores) else None
    yield Text(_counts(predictions, scores, shown))
    shares = [each for each in map(str, frame.columns) if each == "probability" or each.startswith("p(")]
    formats = dict.fromkeys(shares, "%.3f")
    every, alt = len(predictions.texts), "The texts with their answers"
    yield Table(frame, alt, rows=every, formats=formats, key="many_table", opens=MANY_OPENED.key)
    yield TableFiles(lambda: frame, "predictions_several", f"predictions {by} {name}")
    if shown:
        show = partial(_answered_text, name, by, predictions, scores, shown)
        yield Section((replace(MANY_OPENED, bounds=lambda *_: (1, len(shown), 1)),), show)


def _counts(predictions: TextPredictions, scores: GoldScores | None, shown: Sequence[int]) -> str:
    """Number of listed texts, and counts of each class in all of them."""
    total, wrong = len(predictions.texts), [] if scores is None else scores.mistakes.tolist()
    part = f"{len(shown):,} of {counted(total, 'text')}" if len(shown) < total else counted(total, "text")
    if missed := len(set(shown).intersection(wrong)) if len(shown) < total else 0:
        part += f", {missed:,} of {counted(len(wrong), 'mistake')}"
    counts = Counter(predictions.answers)
    listed = [f"{label} {counts[label]:,}" for label in sorted(predictions.labels, key=lambda each: -counts[each])[:6]]
    every = ", ".join(listed) if predictions.labels else counted(sum(map(bool, predictions.answers)), "answer")
    return f"**{part}** — answers to all: {escape_markdown(every)}."


def answers_frame(predictions: TextPredictions, gold: GoldScores | Sequence[str] | None) -> "pd.DataFrame":
    """One row per text: answer, its probability, the gold label, whether it is right, and the probability of labels."""
    columns: dict[str, object] = {"text": list(predictions.texts)}
    if predictions.pairs is not None:
        columns["second text"] = list(predictions.pairs)
    nothing = NO_LABEL if predictions.are_label_sets else ""
    columns["answer"] = [each or nothing for each in predictions.answers]
    if np.isfinite(predictions.scores).any():
        columns["probability"] = predictions.scores.astype(float)
    if predictions.null_differences is not None:
        columns["null difference"] = predictions.null_differences
    if gold is not None:
        columns["gold label"] = list(gold.gold if isinstance(gold, GoldScores) else gold)
    if isinstance(gold, GoldScores):
        right = dict.fromkeys(gold.compared.tolist(), "yes") | dict.fromkeys(gold.mistakes.tolist(), "no")
        columns["right"] = [right.get(at, "") for at in range(len(gold.gold))]
    if predictions.probabilities is not None and len(predictions.labels) <= MOST_LABELS:
        for place, label in enumerate(predictions.labels):
            columns[f"p({label})"] = predictions.probabilities[:, place].astype(float)
    return pd.DataFrame(columns)


def _answered_text(
    name: str,
    answered_by: str,
    predictions: TextPredictions,
    scores: GoldScores | None,
    shown: Sequence[int],
    _: Any,
    __: Ask,
    options: Options,
) -> Iterator[Part]:
    """One text with its gold label and its answer, which is the target of the links."""
    place = shown[int(options.get(MANY_OPENED.key)) - 1]
    text, pair = predictions.texts[place], predictions.pairs[place] if predictions.pairs is not None else ""
    answer, own_names = predictions.answers[place], predictions.own_names
    words = f"answer **{escape_markdown(answer or 'none')}**"
    if scores is not None and place in scores.compared:
        words = f"gold label **{escape_markdown(scores.gold[place])}**, {words}"
    read, kind = {"model": name, "text": text, "pair": pair}, TARGET_OF_TASK.get(answered_by)
    target = {"target": kind} if kind else {}
    if kind in ("class", "probe") and predictions.labels and answer:
        target["target_class"] = own_names.get(answer, answer)
    view = VIEW_OF_TASK.get(answered_by)
    own = [Link.to(f"Open in {view}", "predictions", {"view": view, **read})] if view else []
    links = [*own, *(Link.to(f"Open in {title}", page, {**read, **target}) for page, title in CAUSES)]
    if "target_class" in target and scores is not None and place in scores.mistakes:
        gold = scores.gold[place]
        of, words_of = {**read, **target, "target_class": own_names.get(gold, gold)}, quoted(gold, LONGEST_NAME)
        links += [Link.to(f"{title}: gold label {words_of}", page, of) for page, title in CAUSES]
    yield from open_text(text, pair, words, "predictions_several_open", links)


def calibration_parts(
    listed: TextList, task: str | None, probed: Mapping[str, str], opened: Opened, ask: Ask, options: Options
) -> Iterator[Part]:
    """Reliability, coverage and scores of the answers to labelled texts, and beside them those of a second model.

    Args:
        task: task of the head; None for probes.
        probed: values of the parameters of probes; {} for a head.
    """
    if task and is_number(opened.head(task)):
        yield Text(escape_markdown(str(no_probability(opened.name))), "notice")
        return
    if listed.gold is None:
        names = [quoted(name, LONGEST_NAME) for name in config_classes(opened.source.config)[:NAMED]] if task else []
        bring = f"The labels are those of the head: {', '.join(names)}." if names else ""
        yield Text(f"{NO_GOLD_LABELS} {escape_markdown(bring)}", "notice")
        return
    values = {"class_names": joined_names(listed.class_names), **probed}
    of = calibration_options(listed.texts, listed.gold, listed.pairs, task, **values)
    answer = ask(calibration, of)
    label = replace(CALIBRATION_SHOWN[0], values=lambda opened, _: drawn_labels(opened, of))
    yield Section((*(() if probed else (label,)), *CALIBRATION_SHOWN[1:]), partial(_calibrated, of))
    yield Text(escape_markdown(scores_words(answer.result)))
    yield Notices((*listed.notices, *answer.notices), "notice")


def _calibrated(of: Options, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The figures with the chosen bins and label, and the scores; below them those of both models."""
    chosen = {param.key: options.get(param.key) for param in CALIBRATION_SHOWN if options.get(param.key)}
    of = replace(of, values={**of.values, **chosen})
    yield from _calibration(of, opened, ask)

    def beside(other: str) -> Iterator[Part]:
        return _calibration(replace(of, values={**of.values, OTHER.key: other}), opened, ask)

    yield SecondModel("calibration_beside", beside)


def _calibration(of: Options, opened: Opened, ask: Ask) -> Iterator[Part]:
    answer = ask(calibration, of)
    result, label = answer.result, answer.drawn["calibrated_label"]
    names, suffix = " ".join(each.model for each in result.both), "" if result.other is None else "_beside"
    reliability = Figure.of(
        calibration_figure, answer, f"calibration {names}", **explained(CALIBRATED, calibration, opened, of)
    )
    covered = Figure.of(coverage_figure, answer, f"coverage {names}", formats=dict.fromkeys(SHARES, "percent"))
    words = [
        f"{one.model}: {temperature_words(each)}" if suffix else temperature_words(each)
        for one in result.both
        for each in one.labels
        if each.label == label
    ]
    frame = scores_frame(result)
    formats = {"accuracy": "percent", **dict.fromkeys(list(SCORE_COLUMNS)[2:], "%.3f"), "T": "%.3f"}
    yield replace(reliability, spec=replace(reliability.spec, chart=f"{reliability.spec.chart}{suffix}"))
    yield Text("\n\n".join(map(escape_markdown, filter(None, (sure_words(result), *words)))))
    yield Table(frame, "Scores of the probabilities", formats=formats)
    yield TableFiles(lambda: frame, f"predictions_calibrated{suffix}", f"calibration scores {names}")
    yield replace(covered, spec=replace(covered.spec, chart=f"{covered.spec.chart}{suffix}"))


def swap_parts(opened: Opened, ask: Ask, of: Options) -> Iterator[Part]:
    """What the model answers to all texts; it runs once for whatever number is drawn."""
    answer = ask(word_swaps, of)
    names = answer.result.outputs
    params = (replace(OUTPUT, values=lambda *_: names),) if len(names) > 1 else ()
    yield Section(params, partial(_swaps_drawn, of, answer))


def _swaps_drawn(of: Options, answer: Answer[WordSwaps], opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    result = answer.result
    output = options.get(OUTPUT.key) or result.outputs[0]
    drawn = replace(answer, drawn={**answer.drawn, "swap_output": output})
    of = replace(of, values={**of.values, OUTPUT.key: output})
    yield Figure.of(
        swaps_figure,
        drawn,
        f"{result.compared_by} {output} {opened.name}",
        numbers="open",
        **explained(WORD_SWAPS, word_swaps, opened, of),
        below=[
            Text(escape_markdown(mean_words(result, output))),
            Text(LIMITS, "caption"),
            Notices(answer.notices, "caption"),
        ],
    )
    frame = texts_frame(result, output)
    yield Text("**All texts**")
    yield Table(frame, "The texts with both words")
    yield TableFiles(lambda: frame, "predictions_swapped", f"texts {result.compared_by} {output} {opened.name}")
