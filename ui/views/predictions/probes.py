"""Train a probe: labelled texts, accuracy on every layer, then the answer of the chosen probe to the text."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.classes import classes_figure
from bertviz_core.figures.predictions.probes import probe_figure
from bertviz_core.figures.sentences.poolings import pooling_word
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.probing.reading import (
    EXAMPLE_SET,
    MAX_CLASSES,
    MAX_TEXTS,
    column_labels,
    example_set,
    label_column,
    typed_labels,
)
from bertviz_core.predictions.probing.results import LabelledTexts, Probe, ProbeScores
from bertviz_core.predictions.probing.scores import check_model, most_accurate, probe_bytes, read_probe
from bertviz_core.questions.interventions.targets import TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import (
    LABELLED,
    LABELLED_TEXTS,
    MOST_SEEDS,
    POOLING,
    SEED,
    FittedProbes,
    fitted_probes,
    labelled_options,
    probe_answer,
)
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.view import Ask
from bertviz_core.questions.views import predictions_texts as texts
from bertviz_core.sentences.encoding import edge_tokens
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.text import escape_markdown
from ui.address.widgets import choice, select, whole
from ui.cache.figures import cached_by_bytes
from ui.cache.shared_model import SharedModel
from ui.session import TRAINED_PROBE, settings, store
from ui.widgets.figure_block import chart, figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists import ListFile, answer, column_select, content, wait_for_file, within_upload
from ui.widgets.models import state_select

TYPED, LABEL = LABELLED_TEXTS.key, "label_column"
SOURCES = ("example set", "typed", "file")
TYPED_LIST = "The list"
"""Name of typed texts."""
WIDTH, BOX = 170, 480
FILE, PROBE = ListFile("labelled"), ListFile("probe", "A probe that was saved here")
FIRST = (
    "praise\tWhat a lovely surprise.\npraise\tThe room was spotless.\npraise\tI would come here again.\n"
    "complaint\tThe tap dripped all night.\ncomplaint\tNobody answered the bell.\ncomplaint\tMy soup was cold."
)
"""Default list."""


@dataclass(frozen=True, slots=True, eq=False)
class ChosenProbe:
    """The current probe and its origin."""

    probe: Probe
    """The probe."""
    labelled: LabelledTexts | None
    """Its training texts; None for a probe from a file."""
    scores: ProbeScores | None
    """Accuracy of every layer; None for a probe from a file."""


def train_view(opened: SharedModel, _: Ask, options: Options) -> None:
    """Accuracy over the layers, and the classes of the text."""
    chosen = chosen_probe(opened, st.container(horizontal=True, vertical_alignment="bottom"))
    if chosen.scores is not None and chosen.labelled is not None:
        _accuracy(opened, chosen.labelled, chosen.scores, chosen.probe)
    of = Options(options.texts, values={TARGET.key: f"probe:{chosen.probe.digest}"})
    with_probe = opened.with_probe(chosen.probe)
    prediction = probe_answer(with_probe, of).result
    words = figure_block(
        classes_figure(prediction, "by size"),
        f"probe {opened.name}",
        texts=prediction.tokens,
        explanation=(texts.PROBE_ANSWER, library_lines(probe_answer, with_probe, of)),
    )
    model = opened.loaded
    for notice in unshown((*prediction.notices, f"The model ran on {model.device} in {model.dtype}.")):
        words.caption(escape_markdown(notice))


def chosen_probe(opened: SharedModel, row: DeltaGenerator) -> ChosenProbe:
    """Return the current probe, from a file or fitted to the labelled texts, and keep it as a target of other pages."""
    chosen = _read_or_fitted(opened, row)
    store(TRAINED_PROBE, chosen.probe)
    return chosen


def _read_or_fitted(opened: SharedModel, row: DeltaGenerator) -> ChosenProbe:
    with row:
        labelled, seed = labelled_texts()
        model, first = opened.loaded, edge_tokens(opened.tokenizer).first
        pooling = select(
            POOLING,
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
        return ChosenProbe(saved, None, None)
    if labelled is None:
        wait_for_file("Labelled texts")
        st.stop()
    fit = answer(fitted_probes, opened, labelled_options(labelled, pooling, seed), _so_far).result
    probe = fit.probes[fit.scores.layers.index(layer)]
    with place:
        _save(probe)
    return ChosenProbe(probe, labelled, fit.scores)


def _so_far(known: Answer[FittedProbes]) -> None:
    """The accuracy of the layers that are done."""
    scores = known.result.scores
    chart(probe_figure(scores, scores.layers[scores.best]), "predictions_probe_so_far")
    st.caption("Layers that are not done yet are missing.")


def _opened() -> Probe | None:
    """The probe of an uploaded file; None without a file."""
    handed = PROBE.handed("Open a probe: a .zip that was saved here, of this model.")
    if handed is None:
        return None
    if PROBE.in_sight:
        st.caption("Take the file away to go back to the probe that is fitted here.")
    else:
        st.button("Back to the probe fitted here", key="forget_probe", on_click=PROBE.forget)
    return opened_probe(*handed)


@cached_by_bytes()
def opened_probe(name: str, digest: str) -> Probe:
    """Read a probe from an uploaded file."""
    return read_probe(name, content(digest))


def _save(probe: Probe) -> None:
    name = f"probe-{probe.model.replace('/', '-')}-{probe.texts}-{probe.pooling}-{probe.layer}.zip"
    st.download_button(
        "Save this probe",
        lambda: probe_bytes(probe),
        name,
        "application/zip",
        key="probe_save",
        icon=":material/save:",
        help="A zip with the weights (safetensors) and what they are (JSON): model, layer, pooling, classes, accuracy.",
        on_click="ignore",
    )


def _accuracy(opened: SharedModel, labelled: LabelledTexts, scores: ProbeScores, probe: Probe) -> None:
    spec, options = probe_figure(scores, probe.layer), labelled_options(labelled, scores.pooling, scores.seed)
    words = figure_block(
        spec,
        f"probe accuracy {scores.pooling} {opened.name}",
        formats=dict.fromkeys(spec.frame().columns[1:], "percent"),
        explanation=(texts.PROBES, library_lines(fitted_probes, opened, options)),
    )
    place = scores.layers.index(probe.layer)
    words.markdown(
        f"{state_name(probe.layer).capitalize()}: accuracy **{probe.accuracy:.1%} ± {probe.spread:.1%}**, macro-F1 "
        f"**{scores.macro_f1[place].mean():.1%}**, control task {scores.control_accuracy[place].mean():.1%}, "
        f"selectivity **{100 * scores.selectivity[place]:.1f} points**, most frequent class {scores.majority:.1%}. "
        f"Of all hidden states the most accurate: {escape_markdown(most_accurate(scores))}."
    )
    words.caption(texts.PROBE_LAYERS)
    for notice in unshown(scores.notices):
        words.caption(escape_markdown(notice))


def labelled_texts() -> tuple[LabelledTexts | None, int]:
    """Return the training texts of a probe, None before an upload, and the seed, behind a button that opens them."""
    with st.popover("Labelled texts", icon=":material/label:", key="labelled_box"), st.container(width=BOX):
        source = choice(LABELLED, LABELLED.label, SOURCES, label_visibility="collapsed")
        words = "Another seed cuts the texts into other parts and shuffles the labels of the control task differently."
        seed = whole(SEED, "Seed", 0, MOST_SEEDS - 1, 0, help=words, width=110)
        return {SOURCES[0]: _examples, SOURCES[1]: _typed, SOURCES[2]: _from_file}[source](), seed


def _examples() -> LabelledTexts:
    examples = example_set()
    st.caption(
        f"{len(examples.texts)} short English sentences about {', '.join(examples.classes[:-1])} and "
        f"{examples.classes[-1]}, written for this dashboard (*{EXAMPLE_SET}*)."
    )
    return examples


def _typed() -> LabelledTexts:
    if TYPED not in st.session_state:
        st.session_state[TYPED] = FIRST
    hint = "A label, a tab and a text on each line. Copied from two columns of a spreadsheet it has that form."
    empty = "The list of labelled texts is empty. Write a label, a tab and a text on each line."
    return typed_labels(typed_lines("Label, tab, text", TYPED, "label<tab>text", hint, empty))


def _from_file() -> LabelledTexts | None:
    table = FILE.table(
        "A table with a column of texts and one of labels, or a text file with label, tab and text on each line; at "
        f"most {MAX_TEXTS:,} texts and {MAX_CLASSES} classes. It stays on this server."
    )
    if table is None:
        return None
    first = label_column(table)
    if first is None:
        return typed_labels(table)
    return column_labels(table, column_select("Labels", LABEL, list(map(str, table.frame.columns)), first))


def typed_lines(label: str, key: str, placeholder: str, hint: str, empty: str) -> SentenceTable:
    """Show a text box, and return its lines."""
    text = st.text_area(
        label,
        key=key,
        height=220,
        width=BOX,
        persist_state="session",
        label_visibility="collapsed",
        placeholder=placeholder,
    )
    st.caption(hint)
    if not (text or "").strip():
        raise TextError(empty)
    return read_sentences(TYPED_LIST, within_upload(str(text)), settings())
