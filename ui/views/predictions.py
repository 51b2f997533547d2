"""What Predictions draws by itself: probes that are trained, many texts, the classifier that stands in for a head."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.classes import classes_figure
from bertviz_core.figures.predictions.probes import probe_figure
from bertviz_core.figures.sentences.poolings import pooling_word
from bertviz_core.hidden_states.results import state_name
from bertviz_core.models.catalog import EXAMPLE_TASK, OFFERED, PREDICTS, SPLADE, TEXTS_FILE
from bertviz_core.predictions.probing import reading
from bertviz_core.predictions.probing.results import GoldScores, LabelErrors, LabelledTexts, Probe, TextPredictions
from bertviz_core.predictions.probing.scores import check_model, most_accurate, probe_bytes, read_probe
from bertviz_core.predictions.probing.table import mask_text, with_class_names
from bertviz_core.predictions.tables import decision_table
from bertviz_core.questions.interventions.targets import TARGET
from bertviz_core.questions.parameters import Options, Param, joined_names
from bertviz_core.questions.predictions import label_errors as errors
from bertviz_core.questions.predictions import labelled_texts as questions
from bertviz_core.questions.predictions.calibration import HEAD_FIRST
from bertviz_core.questions.predictions.two_models import CLASS_TASKS
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.texts.sentences import POOLING, STATE
from bertviz_core.questions.view import Ask, Explained, Figure, Notices, OtherModel, Part, Show, Text, View
from bertviz_core.questions.views import answered
from bertviz_core.questions.views.labelled import label_errors
from bertviz_core.questions.views.predictions import Heads, offered, whole_heads
from bertviz_core.questions.views.texts import predictions as texts
from bertviz_core.sentences.encoding import edge_tokens
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.tables.typeset import csv_text
from bertviz_core.text import counted, escape_markdown, quoted
from ui.address.widgets import keep_among, select
from ui.cache.figures import cached_by_bytes
from ui.cache.shared_model import SharedModel
from ui.components.frame import PageLink, page_links
from ui.engine import with_controls
from ui.session import TRAINED_PROBE, end_page, store, stored
from ui.widgets.downloads import note_models, note_table, save_button
from ui.widgets.figure_block import file_name, table_height
from ui.widgets.models import bundled_instead, choose_model, ready, state_select
from ui.widgets.run_model import answer
from ui.widgets.target_controls import session_probe
from ui.widgets.uploads import (
    BOX,
    NAME_CLASSES,
    SOURCES,
    TYPED_LIST,
    ListFile,
    class_names,
    content,
    labelled_texts,
    text_list,
    unnamed,
    wait_for_file,
)

WIDTH = 170
PROBE_FILE = ListFile("probe", "A probe that was saved here")


@dataclass(frozen=True, slots=True, eq=False)
class ChosenProbe:
    """The current probe and its origin."""

    probe: Probe
    """The probe."""
    labelled: LabelledTexts | None = None
    """Its training texts; None for a probe from a file."""
    fit: Answer[questions.FittedProbes] | None = None
    """The probes of every layer; None for a probe from a file."""


def train_view(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
    """Accuracy over the layers, and the classes of the text."""
    chosen = chosen_probe(opened, ask, st.container(horizontal=True, vertical_alignment="bottom"))
    if chosen.fit is not None:
        yield from _accuracy(opened, chosen, chosen.fit)
    of = Options(options.texts, values={TARGET.key: f"probe:{chosen.probe.digest}"})
    with_probe, model = opened.with_probe(chosen.probe), opened.loaded
    known = questions.probe_answer(with_probe, of)
    ran = f"The model ran on {model.device} in {model.dtype}."
    yield replace(
        Figure.of(
            classes_figure,
            known,
            f"probe {opened.name}",
            explanation=texts.PROBE_ANSWER,
            code=library_lines(questions.probe_answer, with_probe, of),
            below=[Notices((*known.result.notices, ran), "caption")],
        ),
        texts=known.result.tokens,
    )


def chosen_probe(opened: SharedModel, ask: Ask, row: DeltaGenerator, texts: str = "Texts") -> ChosenProbe:
    """Return the current probe, from a file or fitted to the labelled texts, and keep it as a target of other pages."""
    chosen = _read_or_fitted(opened, ask, row, texts)
    store(TRAINED_PROBE, chosen.probe)
    return chosen


def _read_or_fitted(opened: SharedModel, ask: Ask, row: DeltaGenerator, texts: str) -> ChosenProbe:
    with row:
        labelled, seed = labelled_texts(opened, label=texts)
        model, first = opened.loaded, edge_tokens(opened.tokenizer).first
        pooling = select(
            questions.POOLING,
            "Pooling",
            sorted(offered_poolings(first, model.has_pooler, "mean"), key=lambda each: each != "mean"),
            format_func=lambda each: pooling_word(each, first),
            help="How the vectors of a text's tokens become one.",
            width=WIDTH,
        )
        last = model.num_hidden_layers
        words = "The hidden states that the probe reads: the embeddings, or the output of a layer."
        layer = last if pooling == "pooler" else state_select(last, words)
        place: Any = st.popover("Save or open", icon=":material/save:", key="probe_box")
    with place:
        saved = _opened()
    if saved is not None:
        check_model(saved, model)
        return ChosenProbe(saved)
    if labelled is None:
        wait_for_file(texts)
        end_page()
    missing = "Layers that are not done yet are missing."
    known = ask(questions.fitted_probes, questions.labelled_options(labelled, pooling, seed), (probe_figure, missing))
    probe = known.result.probes[known.result.scores.layers.index(layer)]
    with place:
        _save(probe)
    return ChosenProbe(probe, labelled, known)


def _opened() -> Probe | None:
    """The probe of an uploaded file; None without a file."""
    handed = PROBE_FILE.handed("Open a probe: a .zip that was saved here, of this model.")
    if handed is None:
        return None
    if PROBE_FILE.in_sight:
        st.caption("Take the file away to go back to the probe that is fitted here.")
    else:
        st.button("Back to the probe fitted here", key="forget_probe", on_click=PROBE_FILE.forget)
    return opened_probe(*handed)


@cached_by_bytes()
def opened_probe(name: str, digest: str) -> Probe:
    """Read a probe from an uploaded file."""
    return read_probe(name, content(digest))


def _save(probe: Probe) -> None:
    name = f"probe-{probe.model.replace('/', '-')}-{probe.texts}-{probe.pooling}-{probe.layer}.zip"
    about = "A zip with the weights (safetensors) and what they are (JSON): model, layer, pooling, classes, accuracy."
    save_button(
        "Save this probe", lambda: probe_bytes(probe), name, "application/zip", "probe_save", about, ":material/save:"
    )


def _accuracy(opened: SharedModel, chosen: ChosenProbe, known: Answer[questions.FittedProbes]) -> Iterator[Part]:
    probe, scores = chosen.probe, known.result.scores
    of = questions.labelled_options(chosen.labelled or reading.example_set(), scores.pooling, scores.seed)
    place = scores.layers.index(probe.layer)
    words = (
        f"{state_name(probe.layer).capitalize()}: accuracy **{probe.accuracy:.1%} ± {probe.spread:.1%}**, macro-F1 "
        f"**{scores.macro_f1[place].mean():.1%}**, control task {scores.control_accuracy[place].mean():.1%}, "
        f"selectivity **{100 * scores.selectivity[place]:.1f} points**, most frequent class {scores.majority:.1%}. "
        f"Of all hidden states the most accurate: {escape_markdown(most_accurate(scores))}."
    )
    figure = Figure.of(
        probe_figure,
        replace(known, drawn={**known.drawn, "probed_layer": probe.layer}),
        f"probe accuracy {scores.pooling} {opened.name}",
        explanation=texts.PROBES,
        code=library_lines(questions.fitted_probes, opened, of),
        below=[Text(words), Text(texts.PROBE_LAYERS, "caption"), Notices(scores.notices, "caption")],
    )
    yield replace(figure, formats=dict.fromkeys(figure.spec.frame().columns[1:], "percent"))


MADE, SHOWN_AT_FIRST = "label_decisions", "label_decisions_shown"
"""Session keys of the decisions of this session, and of those in the table when it was last opened."""
DECISIONS = ("keep", "change", "drop")


def label_errors_view(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
    """Given against likely labels, the suspects with the reader's decisions, and one suspect."""
    row, values = st.container(horizontal=True, vertical_alignment="bottom"), {}
    with row:
        labelled, seed = labelled_texts(opened, reading.checked_rows)
        if labelled is not None and EXAMPLE_TASK in whole_heads(opened).tasks:
            values[questions.CLASS_NAMES.key] = joined_names(class_names(labelled.labels, errors.head_classes(opened)))
    if labelled is None:
        wait_for_file("Texts")
        end_page()
    listed = errors.label_options(labelled, {**values, questions.SEED.key: str(seed)})
    with row:
        listed = with_controls((errors.PROBABILITIES_FROM, errors.SUSPECTS_BY, errors.SUSPECTS_ORDER), opened, listed)
        with st.popover("Options"):
            listed = with_controls((POOLING, STATE), opened, listed)
    found = label_errors.found_errors(opened, ask, listed)
    yield from label_errors.joint_parts(opened, found, listed)
    shown = list(range(len(found.result.suspects)))
    if shown:
        shown = _shown_part(
            label_errors.SUSPECTS_SHOWN,
            label_errors.suspects_by_cell(found.result),
            partial(label_errors.part_words, classes=found.result.classes),
        )
        _decisions(found.result, shown, listed, opened.name)
    yield from label_errors.suspect_parts(found.result, shown, listed)


def _decisions(result: LabelErrors, shown: Sequence[int], listed: Options, name: str) -> None:
    """The shown suspects with a decision on each, kept over other rankings and pages, and the file of all of them."""
    table = decision_table(result)
    frame = table.iloc[list(shown)].reset_index(drop=True)
    made: dict[tuple[str, int, str], str] = st.session_state.setdefault(MADE, {})
    every = [(result.source, *row) for row in zip(table["row"].tolist(), table["text"].tolist(), strict=True)]
    which = [every[at] for at in shown]
    key = f"label_decisions_{sha256(repr((name, listed.key(), list(shown))).encode(errors='replace')).hexdigest()[:16]}"
    if key not in st.session_state:  # its data must not change while the table is open
        st.session_state[SHOWN_AT_FIRST] = dict(made)
    at_first = st.session_state[SHOWN_AT_FIRST]
    frame["decision"] = [at_first.get(each, "") for each in which]
    st.caption(
        "Decide on each suspect in the column **decision**, and save the decisions as a file; your own file stays as "
        "it is."
    )
    edited = st.data_editor(
        frame,
        key=key,
        hide_index=True,
        placeholder="",
        alt="Labels that are likely wrong",
        height=table_height(len(result.suspects)),
        disabled=[column for column in frame.columns if column != "decision"],
        column_order=["decision", *(column for column in frame.columns if column != "decision")],
        column_config={
            "decision": st.column_config.SelectboxColumn(options=list(DECISIONS), width=110),
            "text": st.column_config.TextColumn(width="large"),
            **{column: st.column_config.NumberColumn(format="%.4f") for column in frame.columns[5:]},
        },
    )
    edited["decision"] = edited["decision"].fillna("")
    made.update(zip(which, edited["decision"].tolist(), strict=True))
    table["decision"] = [made.get(each, "") for each in every]
    note_table("Labels that are likely wrong", table)
    about = "The suspects with row, text, given and suggested label, and your decision on each."
    file = f"{file_name('predictions_label_errors', f'decisions {name}')}.csv"
    save_button("Save the decisions", lambda: csv_text(table), file, "text/csv", "label_decisions_csv", about)


def stand_in(heads: Heads) -> str:
    """Name of the bundled classifier, which answers in place of a model without a whole head; "" for any other model.

    It is "" too where the classifier cannot run here.
    """
    return "" if heads.tasks else next(iter(ready(OFFERED[:1])), "")


def offered_views(opened: SharedModel) -> list[View]:
    """The views of a model; those that need a head it lacks are of the bundled classifier."""
    heads = whole_heads(opened)
    if heads.tasks or not (instead := stand_in(heads)):
        return offered(heads.tasks)
    return [
        view if view.show is None else replace(view, show=_of_other(heads, instead, view.show))
        for view in offered((EXAMPLE_TASK,))
    ]


def _of_other(heads: Heads, instead: str, show: Show) -> Show:
    def parts(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
        no_head(heads, instead)
        yield OtherModel(instead, show)

    return parts


def no_head(heads: Heads, answering: str = "") -> None:
    """Say in one line whose answers stand in for those of a missing head, and how to open a model that has one."""
    why = escape_markdown(heads.refusal)
    words = f"{why} " if heads.task or not answering else ""  # the heading says that there is none
    if answering:
        classes = ", ".join(reading.config_classes(SharedModel(answering).source.config))
        named = f": {escape_markdown(classes)}" if 0 < len(classes) <= 20 else ""  # one line
        words += f"**{escape_markdown(answering)}**, which knows remarks on places only, answers instead{named}."
    bundled_instead("predictions_no_head", words, *OFFERED[:1], SPLADE, why=None if why in words else why)
    if answering:
        note_models((answering,))
    if heads.task:
        address = f"checkpoint?{urlencode({'view': 'Load report', 'load_task': heads.task})}"
        link = PageLink("Open the load report", address, "fact_check")
        page_links([("", [link])], "predictions_report", label="What the file holds", width="content")


def answer_kind_select(own: tuple[str, ...], instead: str, has_probe: bool) -> str:
    """The head or the probe that answers; no widget where only a probe can."""
    tasks = own or ((EXAMPLE_TASK,) if instead else ())
    if not tasks:
        return answered.PROBE
    has_probe = has_probe or questions.LABELLED.key in st.query_params
    options = [answered.PROBE, *tasks] if has_probe and not own else [*tasks, answered.PROBE]
    words = "A task head of the checkpoint, or a probe that is trained here."
    names = {answered.PROBE: "probe"} | {task: f"{instead or 'head'}: {PREDICTS[task]}" for task in tasks}
    return select(
        questions.ANSWERED_BY,
        questions.ANSWERED_BY.label,
        options,
        format_func=names.__getitem__,
        help=words,
        width=310 if instead else 230,
    )


def offer_classifier(tasks: tuple[str, ...]) -> None:
    """Say where a classifier is, for a model without classes, and open it with its texts at a click."""
    name = OFFERED[0]
    if {*CLASS_TASKS} & {*tasks} or not ready((name,)):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="many_classifier"):
        st.markdown(
            f":material/info: This model gives texts no class; {name} does: places, good or bad. Negations mislead it.",
            width="content",
        )
        st.button(
            f"Open it with {TEXTS_FILE}", icon=":material/arrow_forward:", on_click=_open_classifier, args=(name,)
        )


def _open_classifier(name: str) -> None:
    choose_model(name)
    st.session_state.update({questions.TEXTS_FROM.key: TEXTS_FILE, questions.ANSWERED_BY.key: EXAMPLE_TASK})


def several_view(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
    """The texts with their answers, and the confusion matrix where there are gold labels."""
    heads = whole_heads(opened)
    instead, has_probe = stand_in(heads), session_probe(opened.name) is not None
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        answered_by = answer_kind_select(heads.tasks, instead, has_probe)
        place = st.container(width="content", horizontal=True, vertical_alignment="bottom")
    if instead and answered_by != answered.PROBE:
        no_head(heads, instead)
        opened = SharedModel(instead)
        heads = whole_heads(opened)
    if not instead:  # else it is among those that can answer
        offer_classifier(heads.tasks)  # above the question whether a probe is to be trained
    chosen = chosen_probe(opened, ask, row, "Trained on") if answered_by == answered.PROBE else None
    with place:
        classes = chosen.probe.classes if chosen else _classes(opened, answered_by)
        listed = text_list(answered_by, classes, mask_text(opened.tokenizer), options.pair)
    if listed is None:
        wait_for_file("Texts")
        end_page()
    notices = listed.notices
    if chosen is not None:
        notices += probe_line(chosen, heads.tasks, listed.texts)
        opened = opened.with_probe(chosen.probe)
        of = Options(listed.texts, values={TARGET.key: f"probe:{chosen.probe.digest}"})
    else:
        of = questions.with_pairs(listed.texts, listed.pairs, answered_by)
    known = answer(questions.text_answers, opened, of)
    known = known.of(with_class_names(known.result, listed.class_names))
    predictions, scores, shown = known.result, None, list(range(len(known.result.texts)))
    try:
        scores = None if listed.gold is None else questions.scored_texts(known, listed.gold, opened.name)
    except TextError as error:  # the answers are shown without their scores
        hint = f" Or say under **{NAME_CLASSES}** which is which." if unnamed(listed.gold, classes) else ""
        yield Text(f"{escape_markdown(str(error))}{hint}", "warning")
    if scores is not None:
        yield from answered.confusion_parts(scores, opened.name)
        shown = _shown(predictions, scores.result)
    gold = listed.gold if scores is None else scores.result
    yield from answered.many_parts(opened.name, answered_by, predictions, gold, shown)
    if listed.gold is None and not predictions.are_numbers and answered_by != "token-classification":
        yield Text(texts.NO_GOLD, "caption")
    # The page has shown those of the heads above.
    yield Notices([each for each in (*notices, *predictions.notices) if each not in heads.notices], "caption")
    yield Explained("predictions_several", texts.SEVERAL_TEXTS, library_lines(questions.text_answers, opened, of))


def _classes(opened: SharedModel, task: str | None) -> tuple[str, ...]:
    return errors.head_classes(opened) if task == EXAMPLE_TASK else reading.config_classes(opened.source.config)


def calibration_view(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
    """How far the probabilities of the classes can be trusted, by labelled texts."""
    heads, of = whole_heads(opened), opened
    if instead := stand_in(heads):
        no_head(heads, instead)
        of = SharedModel(instead)
        heads = whole_heads(of)
    task = next((each for each in heads.tasks if each in CLASS_TASKS), None)
    source = replace(errors.PROBABILITIES_FROM, values=lambda *_: HEAD_FIRST[0 if task else 1 :])
    row, listed = st.container(horizontal=True, vertical_alignment="bottom"), None
    with row:
        chosen = with_controls((source,), opened, Options())
        if by_probe := chosen.get(source.key) == errors.PROBE:
            labelled, seed = labelled_texts(opened, reading.checked_rows)
            if labelled is not None:
                listed = answered.TextList("", labelled.texts, labelled.labels, notices=labelled.notices)
            with st.popover("Options"):
                chosen = with_controls((POOLING, STATE), opened, chosen)
            chosen = replace(chosen, values={**chosen.values, questions.SEED.key: str(seed)})
        else:
            listed = text_list(task or "", _classes(of, task), "", options.pair)
    if listed is None:
        wait_for_file("Texts")
        end_page()
    probed = chosen.values if by_probe else {}
    show = partial(answered.calibration_parts, listed, None if by_probe else task, probed)
    yield from [OtherModel(instead, show)] if instead and not by_probe else show(opened, ask, options)


def probe_line(chosen: ChosenProbe, tasks: tuple[str, ...], listed: Sequence[str]) -> tuple[str, ...]:
    """Say whose answers the page shows, and offer the way back from a probe that the reader brought along."""
    probe, fitted_on = chosen.probe, () if chosen.labelled is None else chosen.labelled.texts
    known = len([text for text in listed if text in set(fitted_on)])
    notice = f"{counted(known, 'text')} of the list are among those that the probe was fitted on."
    with st.container(horizontal=True, vertical_alignment="center", key="many_probe"):
        st.markdown(f":material/info: {probe_words(probe, chosen.labelled is None)}", width="content")
        label, key, back = "", "", ""
        if tasks:
            label, key, back = f"Back to the task head for {PREDICTS[tasks[0]]}", questions.ANSWERED_BY.key, tasks[0]
        elif probe.texts != reading.EXAMPLE_SET and chosen.labelled is not None:
            label, key, back = "Back to the example set", questions.LABELLED.key, SOURCES[0]
        if label:
            st.button(label, key="many_back", icon=":material/undo:", on_click=store, args=(key, back))
    return (notice,) * bool(known)


def probe_words(probe: Probe, from_file: bool) -> str:
    """What a probe that answers was trained on, in Markdown."""
    sources = {reading.EXAMPLE_SET: f" of the example set *{reading.EXAMPLE_SET}*", TYPED_LIST: " that you typed"}
    of = sources.get(probe.texts, f" of {quoted(escape_markdown(probe.texts), answered.LONGEST_NAME)}")
    words = f"Answers of the probe {state_name(probe.layer)}, trained on {counted(probe.count, 'text')}{of}."
    return f"{words} **Save or open** leads back from its file." if from_file else words


def _shown(predictions: TextPredictions, scores: GoldScores) -> list[int]:
    """Indices of the listed texts: by default the mistakes if there are any, else all, or those of a matrix cell."""
    words = partial(answered.part_words, classes=scores.classes)
    return _shown_part(answered.SHOWN, answered.shown_parts(predictions, scores), words)


def _shown_part(param: Param, parts: Mapping[str, list[int]], words: Callable[[str, int], str]) -> list[int]:
    """Indices of the chosen part of a list, the first by default; a click on a cell of its matrix chooses one, too."""
    first, shown = next(iter(parts)), {part: words(part, len(places)) for part, places in parts.items()}
    keep_among(param.key, list(parts), first)
    if st.session_state.get(f"{param.key}_words") != shown:  # a browser keeps the old words of an equal choice
        st.session_state[f"{param.key}_words"] = shown
        store(param.key, stored(param.key, first))
    st.selectbox(
        param.label,
        list(parts),
        key=param.key,
        format_func=shown.__getitem__,
        persist_state="session",
        width=BOX,
        help="A click on a cell of the matrix chooses its texts.",
    )
    return parts[str(stored(param.key))]
