"""Train a probe: accuracy on every layer, then the answer of the chosen probe to the text."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.predictions.classes import classes_figure
from bertviz_core.figures.predictions.probes import probe_figure
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.probing.probe import check_model, probe_bytes, read_probe
from bertviz_core.predictions.probing.results import LabelledTexts, Probe, ProbeScores
from bertviz_core.predictions.probing.scores import accuracy_table, most_accurate
from bertviz_core.questions.interventions.targets import TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import (
    FittedProbes,
    fitted_probes,
    labelled_options,
    probe_answer,
)
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.sentences.batches import edge_tokens
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.text import escape_markdown
from ui.cache import models
from ui.cache.memoize import cached_by_bytes
from ui.cache.shared_model import SharedModel
from ui.session import TRAINED_PROBE, store
from ui.views.predictions.probes import controls, texts
from ui.widgets import text_fields
from ui.widgets.figure_block import chart, figure_block
from ui.widgets.formatting import run_words
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.lists.uploads import content, wait_for_file
from ui.widgets.view_and_layer import state_select


@dataclass(frozen=True, slots=True, eq=False)
class ChosenProbe:
    """The current probe and its origin."""

    probe: Probe
    """The probe."""
    labelled: LabelledTexts | None
    """Its training texts; None for a probe from a file."""
    scores: ProbeScores | None
    """Accuracy of every layer; None for a probe from a file."""


def train_view(name: str) -> None:
    """Accuracy over the layers, and the classes of the text."""
    chosen = chosen_probe(name, st.container(horizontal=True, vertical_alignment="bottom"))
    if chosen.scores is not None and chosen.labelled is not None:
        _accuracy(name, chosen.labelled, chosen.scores, chosen.probe)
    options = Options((text_fields.text(),), values={TARGET.key: f"probe:{chosen.probe.digest}"})
    opened = SharedModel(name).with_probe(chosen.probe)
    prediction = probe_answer(opened, options).result
    words = figure_block(
        classes_figure(prediction, "by size"),
        f"probe {name}",
        pd.DataFrame({"class": prediction.labels, "probability": prediction.probabilities, "logit": prediction.logits}),
        texts=prediction.tokens,
        explanation=(texts.ANSWER, library_lines(probe_answer, opened, options)),
    )
    model = models.loaded(name)
    for notice in unshown((*prediction.notices, f"The model ran {run_words(model.device, model.dtype)}.")):
        words.caption(escape_markdown(notice))


def chosen_probe(name: str, row: DeltaGenerator) -> ChosenProbe:
    """Return the current probe, from a file or fitted to the labelled texts, and keep it as a target of other pages.

    Args:
        name: name of the model.
        row: container of the widgets.

    Raises:
        BertvizError: the texts are unsuitable, their vectors cannot be computed, or the file has no such probe.
    """
    chosen = _read_or_fitted(name, row)
    store(TRAINED_PROBE, chosen.probe)
    return chosen


def _read_or_fitted(name: str, row: DeltaGenerator) -> ChosenProbe:
    with row:
        labelled, seed = controls.labelled_texts()
        model = models.loaded(name)
        first = edge_tokens(models.tokenizer(name)).first
        offered = offered_poolings(first, model.has_pooler, "mean")
        offered = (*(each for each in offered if each == "mean"), *(each for each in offered if each != "mean"))
        pooling = controls.pooling_select(offered, first)
        last = model.num_hidden_layers
        words = "The hidden states that the probe reads: the embeddings, or the output of a layer."
        layer = last if pooling == "pooler" else state_select(last, words)
        place = controls.files_popover()
    with place:
        opened = _opened()
    if opened is not None:
        check_model(opened, model)
        return ChosenProbe(opened, None, None)
    if labelled is None:
        wait_for_file("Labelled texts")
        st.stop()
    fit = answer(fitted_probes, SharedModel(name), labelled_options(labelled, pooling, seed), _so_far).result
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
    handed = controls.PROBE.handed("Open a probe: a .zip that was saved here, of this model.")
    if handed is None:
        return None
    if controls.PROBE.in_sight:
        st.caption("Take the file away to go back to the probe that is fitted here.")
    else:
        st.button("Back to the probe fitted here", key="forget_probe", on_click=controls.PROBE.forget)
    return opened_probe(*handed)


@cached_by_bytes()
def opened_probe(name: str, digest: str) -> Probe:
    """Read a probe from an uploaded file.

    Raises:
        CheckpointError: it is not a file of a probe.
    """
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


def _accuracy(name: str, labelled: LabelledTexts, scores: ProbeScores, probe: Probe) -> None:
    table = accuracy_table(scores)
    words = figure_block(
        probe_figure(scores, probe.layer),
        f"probe accuracy {scores.pooling} {name}",
        table,
        formats=dict.fromkeys(table.columns[1:], "percent"),
        explanation=(
            texts.HOW,
            library_lines(fitted_probes, SharedModel(name), labelled_options(labelled, scores.pooling, scores.seed)),
        ),
    )
    place = scores.layers.index(probe.layer)
    words.markdown(
        f"{state_name(probe.layer).capitalize()}: accuracy **{probe.accuracy:.1%} ± {probe.spread:.1%}**, macro-F1 "
        f"**{scores.macro_f1[place].mean():.1%}**, control task {scores.control_accuracy[place].mean():.1%}, "
        f"selectivity **{100 * scores.selectivity[place]:.1f} points**, most frequent class {scores.majority:.1%}. "
        f"Of all hidden states the most accurate: {escape_markdown(most_accurate(scores))}."
    )
    words.caption(texts.READ)
    for notice in unshown(scores.notices):
        words.caption(escape_markdown(notice))
