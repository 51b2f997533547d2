"""What Checkpoint draws by itself: answers to many texts, training runs."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.checkpoints.training.movement import LEAST_CHECKPOINTS
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.figures.base.spec import DECLARED
from bertviz_core.figures.checkpoints.comparison import (
    answers_compared_figure,
    interval_words,
    scores_compared_figure,
    slices_compared_figure,
)
from bertviz_core.models.catalog import TEXTS_FILE
from bertviz_core.predictions.probing.reading import (
    LABEL_COLUMNS,
    config_classes,
    example_set,
    fitting_set,
    gold_column,
)
from bertviz_core.predictions.probing.results import AnswerComparison, GoldComparison, TextSlice
from bertviz_core.predictions.probing.table import COLUMN, LENGTH, WORD
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.followed import followed_labels
from bertviz_core.questions.predictions.two_models import (
    answers_by_slice,
    compared_answers,
    compared_options,
    labelled_columns,
)
from bertviz_core.questions.question import Answer, Question
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.predictions import (
    LISTED,
    answer_comparison_frame,
    listed_texts,
    p_value_text,
    slices_sentence,
)
from bertviz_core.questions.tables.training import answers_frame
from bertviz_core.questions.view import (
    Ask,
    Explained,
    Figure,
    Folded,
    Metric,
    Metrics,
    Notices,
    Part,
    Section,
    Table,
    Text,
)
from bertviz_core.questions.views.checkpoint import COMPARED, COMPARED_LIST, compared_view, of_list
from bertviz_core.questions.views.checkpoint_texts import (
    ANSWERS,
    NO_GOLD_TEXTS,
    NO_HEAD,
    NO_LABELS,
    NO_RUN,
    NO_TEXTS,
    WRITE_TEXTS,
)
from bertviz_core.questions.views.training import (
    FIRST_CHECKPOINT,
    FOLLOWED,
    SECOND_CHECKPOINT,
    TRAINING,
    labels_parts,
    run_parts,
    sentences,
    states_parts,
    text_parts,
)
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.text import counted, escape_markdown
from ui.address.registry import param
from ui.address.widgets import choice, select, words
from ui.cache.folders import SharedTraining
from ui.cache.shared_model import SharedModel
from ui.components.links import LONGEST_LINKED, Link, address, step_links
from ui.session import settings
from ui.widgets.figure_block import chart, numbers_table
from ui.widgets.lists import (
    ListFile,
    answer,
    column_select,
    example_table,
    most_megabytes,
    open_row,
    opened_select,
    table_files,
    wait_for_file,
    within_upload,
)

KEY, FILE, BOX = "checkpoint_answered", ListFile("answers"), 480
TYPED, OPENED, TABLE = "answered_texts", "answers_opened", "answers_table"
"""Session keys: the typed texts, the index of the open text, the table of texts."""
HEIGHT, FEW = 330, 8
"""Pixels of the table, which is scrolled, and the most rows of a table without scrolling."""
NO_GOLD, NO_SECOND = "none: no gold labels", "none: single texts"
ANY, ALL = "any label", "all slices"
TOGETHER, BY_WORD, BY_COLUMN = "all together", "a word", "column: "
HELP = (
    "Divide the texts and compare the models on each part: by the number of words, by a word that a text contains or "
    "not, or by the values of a column of your table."
)


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredTexts:
    """Texts that two models answer."""

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


def compare_view(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
    """The changes from this checkpoint to another."""
    texts = None
    if options.get(COMPARED.key) == COMPARED.options[-1]:
        texts = answered_texts(opened.source.config)
    yield from compared_view(opened, ask, options)
    if options.get(COMPARED.key) != COMPARED.options[-1]:
        return
    if texts is None:
        needs_texts(texts, NO_TEXTS)
    else:
        yield from _answers(opened, ask, options.get(OTHER.key), texts)


def answered_texts(config: Mapping[str, Any]) -> AnsweredTexts | None:
    """The texts of this session, behind a button that opens their panel; None before they are written or uploaded.

    Args:
        config: config of the model that answers, for whose classes the example set is chosen.

    Raises:
        BertvizError: the texts cannot be read.
    """
    with st.popover("Texts", icon=":material/edit_note:", key="answers_box"), st.container(width=BOX):
        source = param("answers_from")
        chosen = choice(source, "Texts", label_visibility="collapsed")
        if chosen == source.options[0]:
            examples = fitting_set(config_classes(config)) or example_set()
            labels = f"{', '.join(examples.classes[:-1])} and {examples.classes[-1]}"
            st.caption(f"{len(examples.texts)} short English sentences with the labels {labels} (*{examples.name}*).")
            return AnsweredTexts(f"of the example set {examples.name}", ())
        if chosen == TEXTS_FILE:
            return _of_table(example_table())
        if chosen == source.options[1]:
            return _typed()
        table = FILE.table(
            "A table with a column of texts and one of gold labels, its column names in the first row; at most "
            f"{settings().max_sentences:,} texts and {most_megabytes()} MB. It stays on this server."
        )
        return None if table is None else _of_table(table)


def needs_texts(texts: AnsweredTexts | None, what: str) -> None:
    """Say which texts are missing."""
    if texts is None and st.session_state.get("answers_from") == "file":
        wait_for_file("Texts")
    else:
        st.info(what, icon=":material/info:")


def _typed() -> AnsweredTexts | None:
    typed = st.text_area(
        "Texts, one a line",
        key=TYPED,
        height=220,
        persist_state="session",
        placeholder="one text a line, or: label<tab>text",
    )
    if not (typed or "").strip():
        return None
    table = read_sentences("The list", within_upload(str(typed)), settings())
    parted = [line.partition("\t") for line in table.sentences]
    if not all(tab for _, tab, _ in parted):
        return AnsweredTexts("of your own list", table.sentences, notices=table.notices)
    gold, texts = tuple(label.strip() for label, _, _ in parted), tuple(text.strip() for _, _, text in parted)
    return AnsweredTexts("of your own list", texts, gold, notices=table.notices)


def _of_table(table: SentenceTable) -> AnsweredTexts:
    names = [str(name) for name in table.frame.columns]
    usual = next((name for usual_name in LABEL_COLUMNS for name in names if name.lower() == usual_name), "")
    gold = column_select("Gold labels", "answers_gold", names, usual, NO_GOLD) if names else ""
    second = column_select("Second text", "answers_second", names, "", NO_SECOND) if names else ""
    labels, pairs = (gold_column(table, name) if name else None for name in (gold, second))
    return AnsweredTexts(f"of {table.name}", table.sentences, labels, pairs, table.notices, table)


def _answers(opened: SharedModel, ask: Ask, other: str, answered: AnsweredTexts) -> Iterator[Part]:
    """Scores of both models, their answers against each other, and the texts with different answers."""
    options = compared_options(other, answered.texts, answered.gold, answered.pairs)
    try:
        answer = ask(compared_answers, options)
    except UnsupportedModelError as error:
        yield Text(f"{escape_markdown(str(error).partition(';')[0])}. {NO_HEAD}", "notice")
        return
    compared = answer.result
    names, both = f"{compared.first} {compared.second}", _models(compared)
    if compared.gold is not None:
        yield from _scores(compared, compared.gold)
        yield Figure.of(scores_compared_figure, answer, f"scores {names}", models=both)
    else:
        changed = Metric("Changed", f"{len(compared.changed):,}", "Texts with different answers.")
        yield Metrics([Metric("Same answer", f"{compared.agreement:.1%}", "Of all texts."), changed])
        yield Text(NO_LABELS, "caption")
    yield Text(escape_markdown(f"{counted(len(compared.texts), 'text')} {answered.name}."), "caption")
    yield Notices((*answered.notices, *answer.notices), "caption")
    yield Figure.of(answers_compared_figure, answer, f"answers {names}", models=both)
    slices = yield from _slices(ask, other, compared, answered)
    _texts(compared, slices, opened.name, None if other in COPIES else other)
    yield Explained(KEY, ANSWERS, library_lines(compared_answers, opened, options))


def _scores(compared: AnswerComparison, gold: GoldComparison) -> Iterator[Part]:
    accuracy, macro_f1 = gold.accuracy, gold.macro_f1
    p_value = p_value_text(gold.mcnemar_p).removeprefix("= ")
    yield Metrics(
        [
            Metric("Accuracy", f"{accuracy.first:.1%} → {accuracy.second:.1%}", "Of the first → of the second."),
            Metric("Macro-F1", f"{macro_f1.first:.1%} → {macro_f1.second:.1%}", "Mean F1 of the classes."),
            Metric("Mended", f"{len(gold.mended):,}", "The first model is wrong, the second right."),
            Metric("Broken", f"{len(gold.broken):,}", "The first model is right, the second wrong."),
            Metric("McNemar's p", p_value, "Exact test of equal accuracy."),
            Metric("Same answer", f"{compared.agreement:.1%}", "Of all texts, right or wrong."),
        ]
    )
    yield Text(f"Accuracy changes by **{interval_words(accuracy)}**. {verdict(gold)}")


def verdict(gold: GoldComparison) -> str:
    """What the interval of the accuracy says, in one sentence."""
    count = len(gold.first.compared)
    if gold.accuracy.low > 0:
        return f"The whole interval is above 0: on texts like these {count:,}, the second model is more accurate."
    if gold.accuracy.high < 0:
        return f"The whole interval is below 0: on texts like these {count:,}, the first model is more accurate."
    return f"The interval contains 0, so these {counted(count, 'text')} do not show that one model is more accurate."


def _slices(
    ask: Ask, other: str, compared: AnswerComparison, answered: AnsweredTexts
) -> Generator[Part, None, tuple[TextSlice, ...]]:
    """The slices that the reader chooses; returns them, () where the texts are all together."""
    columns = [] if answered.table is None else [f"{BY_COLUMN}{name}" for name in answered.table.frame.columns]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        divided = select(param("answers_by"), "Texts by", [TOGETHER, LENGTH, BY_WORD, *columns], width=240, help=HELP)
        word = words(param("answers_word"), "Word", width=240, placeholder="such as not") if divided == BY_WORD else ""
    if divided == TOGETHER or (divided == BY_WORD and not word):
        return ()
    by, values = (f"{WORD}{word}" if divided == BY_WORD else divided), None
    if answered.table is not None and divided in columns:
        by, values = COLUMN, gold_column(answered.table, divided.removeprefix(BY_COLUMN))
    options = compared_options(other, answered.texts, answered.gold, answered.pairs, slices=by, values=values)
    answer = ask(answers_by_slice, options)
    yield Text(escape_markdown(slices_sentence(answer.result)))
    names = f"slices {compared.first} {compared.second}"
    yield Figure.of(slices_compared_figure, answer, names, models=_models(compared))
    slices: tuple[TextSlice, ...] = answer.result.slices
    return slices


def _texts(compared: AnswerComparison, slices: Sequence[TextSlice], first: str, second: str | None) -> None:
    """The listed texts, and one of them with both answers and links that explain them."""
    listed, frame = _listed_select(compared, slices), answer_comparison_frame(compared)
    part = frame.iloc[listed]
    table_files(lambda: frame, KEY, f"answers {compared.first} {compared.second}")
    if not listed:
        st.caption("No text is of this kind, label and slice.")
        return
    numbers_table(
        part,
        "The texts with the answers of both models",
        "auto" if len(part) <= FEW else HEIGHT,
        formats={"first probability": "%.3f", "second probability": "%.3f"},
        key=TABLE,
        on_row=partial(open_row, TABLE, OPENED),
    )
    _opened_text(compared, opened_select(OPENED, listed, "listed"), first, second)


def _listed_select(compared: AnswerComparison, slices: Sequence[TextSlice]) -> list[int]:
    """Indices of the listed texts, by their kind, label and slice."""
    kinds = {"changed", "all", *compared.kinds}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        part = choice(param("answers_listed"), "Texts listed", [each for each in LISTED if each in kinds])
        label = select(param("answers_label"), "Label", [ANY, *compared.labels], width=200)
        names = [ALL, *(each.name for each in slices)]
        chosen = select(param("answers_slice"), "Slice", names, width=240) if slices else ALL
    listed = listed_texts(compared, part)
    if chosen != ALL:
        places = set(slices[names.index(chosen) - 1].places.tolist())
        listed = [place for place in listed if place in places]
    if label == ANY:
        return listed
    columns = [*compared.answers, *(() if compared.gold is None else (compared.gold.first.gold,))]
    return [place for place in listed if any(column[place] == label for column in columns)]


def _opened_text(compared: AnswerComparison, place: int, first: str, second: str | None) -> None:
    text, pair = compared.texts[place], compared.pairs[place] if compared.pairs is not None else ""
    st.markdown(escape_markdown(text))
    if pair:
        st.markdown(f":gray[second text:] {escape_markdown(pair)}")
    parts = []
    if compared.gold is not None and compared.gold.first.gold[place]:
        parts.append(f"gold label **{escape_markdown(compared.gold.first.gold[place])}**")
    for side, answers, scores in zip(("first", "second"), compared.answers, compared.probabilities, strict=True):
        parts.append(f"{side} **{escape_markdown(answers[place])}** ({scores[place]:.3f})")
    st.markdown(f"{', '.join(parts)}: {compared.kinds[place]}")
    if len(text) + len(pair) > LONGEST_LINKED:
        st.caption(f"The text has more than {LONGEST_LINKED:,} characters, too many for a link: copy it there.")
        return
    names = [("first", first), *([] if second is None else [("second", second)])]
    links = [
        Link(f"{why} of the {side}", address(page, [("model", name), ("text", text), ("pair", pair), *more]))
        for side, name in names
        for why, page, more in (
            ("Classes", "predictions", [("view", "Classes")]),
            ("Words that matter", "words", [("target", "class")]),
        )
    ]
    step_links(links, f"{KEY}_open", "Open this text in another view")


def _models(compared: AnswerComparison) -> tuple[str, ...]:
    return tuple(dict.fromkeys((compared.first, compared.second)))


WIDTH, TEXTS_HEIGHT, FEW_TEXTS = 245, 330, 8
"""Pixels of a select and of a table of texts, which is scrolled, and the most rows of one without scrolling."""


def training_view(_: SharedModel, __: Ask, options: Options) -> Iterator[Part]:
    """The log and the movement of a training run, and what its checkpoints compute."""
    name = options.get(TRAINING.key)
    if not name:
        with st.container(key="checkpoint_no_run"):
            st.info(NO_RUN, icon=":material/info:")
        return
    st.button("Look again", icon=":material/refresh:", key="look_again", help="Takes checkpoints saved meanwhile.")
    run = SharedTraining(name)
    yield from run_parts(run, partial(_ask, run))
    if len(run.run.states) >= LEAST_CHECKPOINTS:
        _two(run)
    yield Section((FOLLOWED,), partial(_followed, run))


def _ask(run: SharedTraining, question: Question[Any, Any], options: Options) -> Answer[Any]:
    """Ask a question about the run; what is known so far is drawn meanwhile."""

    def draw(so_far: Answer[Any]) -> None:
        chart(DECLARED[question.figures[0]].of(so_far.drawn), "training_so_far")
        for sentence in sentences(so_far):
            st.markdown(sentence.markdown)

    return answer(question, run, options, draw)


def _two(run: SharedTraining) -> None:
    """A link that opens any two checkpoints as the models of Compare with base."""
    allowed = settings().allowed_models
    named = {each.name: each.checkpoint.name for each in run.run.checkpoints}
    names = {name: model for name, model in named.items() if not allowed or model in allowed}
    if len(names) < LEAST_CHECKPOINTS:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = select(FIRST_CHECKPOINT, "First checkpoint", list(names), width=WIDTH)
        second = select(SECOND_CHECKPOINT, "Second checkpoint", list(names), list(names)[-1], width=WIDTH)
        query = [("model", names[first]), ("view", "Compare with base"), (OTHER.key, names[second])]
        link = Link("Compare these two checkpoints", address("checkpoint", query))
        step_links([link], "training_two", "The two checkpoints compared")


def _followed(run: SharedTraining, _: SharedModel, __: Ask, options: Options) -> Iterator[Part]:
    """What the reader chooses to follow through the checkpoints; nothing is run before."""
    nothing, text, labelled, _listed = FOLLOWED.options
    chosen, ask = options.choice(FOLLOWED), partial(_ask, run)
    if chosen == text:
        yield from text_parts(run, ask, options)
    elif chosen == labelled:
        yield from _labels(run)
    elif chosen != nothing:
        show = partial(of_list, lambda listed, *_: states_parts(listed, run, ask), WRITE_TEXTS)
        yield Section((COMPARED_LIST,), show)


def _labels(run: SharedTraining) -> Iterator[Part]:
    """Accuracy, macro-F1 and changed answers at every checkpoint, and the texts with all answers."""
    listed = answered_texts(run.run.checkpoints[-1].checkpoint.config)
    if listed is None or (listed.texts and listed.gold is None):
        needs_texts(listed, NO_GOLD_TEXTS)
        return
    options = labelled_columns(listed.texts, listed.gold, listed.pairs) if listed.texts else Options()
    try:
        scores = _ask(run, followed_labels, options)
    except TextError as error:
        yield Text(f"{escape_markdown(str(error))} {NO_GOLD_TEXTS}", "notice")
        return
    yield Notices(listed.notices, "caption")
    yield from labels_parts(run, scores, options, listed.name)
    frame = answers_frame(scores.result)
    table = Table(frame, f"Answers to the texts {listed.name}", "auto" if len(frame) <= FEW_TEXTS else TEXTS_HEIGHT)
    yield Folded("The answers of every checkpoint", "checkpoint_answers_by_step", lambda: [table])
